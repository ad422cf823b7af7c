//! One provider: where to send somebody who signs in there, and what its answer proves.

use std::{fmt, sync::Arc, time::Duration};

use openidconnect::{
    AccessToken, AuthenticationFlow, AuthorizationCode, ClientId, ClientSecret, CsrfToken, IssuerUrl, Nonce,
    OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope, SubjectIdentifier,
    TokenResponse,
    core::{CoreAuthPrompt, CoreJwsSigningAlgorithm, CoreResponseType},
};
use pinhole_core::{Error, Result, Timestamp};
use tokio::{sync::Mutex, time::Instant};
use url::Url;

use crate::{
    claims::{Metadata, MoreClaims, OidcClient, SignedIdToken, UserInfo},
    http,
};

/// How long what discovery found is used.
const METADATA_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How far the clocks of provider and server may differ, when it is about a fresh sign-in.
const CLOCK_SKEW: Duration = Duration::from_secs(60);
/// How old the provider's own proof may be when somebody signs in: as long as a session lasts. Asking for it makes the
/// provider say when that was.
const PROOF_LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// What identity tokens may be signed with: signatures of a key that the provider alone has.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 4] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// Which provider, and as whom we come to it.
#[derive(Clone)]
pub struct ProviderConfig {
    /// Its issuer, exactly as its identity tokens name it.
    pub issuer: String,
    /// Our id there.
    pub client_id: String,
    /// Our secret there.
    pub client_secret: Option<String>,
    /// Scopes beside `openid`.
    pub scopes: Vec<String>,
    /// The claim that lists a person's groups.
    pub group_claim: Option<String>,
    /// Where it sends people back to.
    pub redirect_url: Url,
}

/// One provider of identities. Cloning is cheap.
#[derive(Clone)]
pub struct Provider {
    inner: Arc<Parts>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Provider({})", self.inner.config.issuer)
    }
}

struct Parts {
    config: ProviderConfig,
    http: reqwest::Client,
    metadata: Mutex<Option<(Instant, Metadata)>>,
}

/// A sign-in that is begun.
pub struct Request {
    /// Where to send the browser.
    pub url: Url,
    /// What the answer must give back.
    pub state: String,
    /// What the identity token must name.
    pub nonce: String,
    /// What the code is exchanged with.
    pub verifier: String,
}

/// What the browser brings back.
pub struct Answer<'a> {
    /// The code.
    pub code: &'a str,
    /// The issuer, where the provider names it (RFC 9207).
    pub issuer: Option<&'a str>,
}

/// What was remembered of the sign-in that was begun.
pub struct Proof<'a> {
    /// What the identity token must name.
    pub nonce: &'a str,
    /// What the code is exchanged with.
    pub verifier: &'a str,
    /// Since when the person must have shown who they are; anything goes when there is none.
    pub authenticated_since: Option<Timestamp>,
}

/// Who signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The provider.
    pub issuer: String,
    /// Its own, unchanging name of the person.
    pub subject: String,
    /// What the person would like to be called.
    pub preferred_name: Option<String>,
    /// The values of the group claim, where there is one.
    pub groups: Option<Vec<String>>,
    /// When the person last showed the provider who they are, where it says so.
    pub proved_at: Option<Timestamp>,
}

impl Provider {
    /// A client of the provider. Nothing is asked of it yet.
    ///
    /// # Errors
    /// `internal` when no HTTP client can be made.
    pub fn new(config: ProviderConfig) -> Result<Self> {
        Ok(Self { inner: Arc::new(Parts { config, http: http::client()?, metadata: Mutex::new(None) }) })
    }

    /// Begins a sign-in. `again`: the person must show who they are even when the provider knows.
    ///
    /// # Errors
    /// `provider_unavailable` when the provider cannot be asked.
    pub async fn begin(&self, again: bool) -> Result<Request> {
        let client = self.client(&self.metadata().await?)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
        let mut request = client.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
        for scope in &self.inner.config.scopes {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        request = request.set_max_age(if again { Duration::ZERO } else { PROOF_LIFETIME });
        if again {
            request = request.add_prompt(CoreAuthPrompt::Login);
        }
        let (url, state, nonce) = request.set_pkce_challenge(challenge).url();
        let (state, nonce) = (state.secret().clone(), nonce.secret().clone());
        Ok(Request { url, state, nonce, verifier: verifier.secret().clone() })
    }

    /// Ends a sign-in: exchanges the code and verifies the identity token.
    ///
    /// # Errors
    /// `unauthenticated` for an answer that proves nothing, `provider_unavailable` when the provider cannot be asked.
    /// The cause of either is for the log alone.
    pub async fn finish(&self, answer: &Answer<'_>, proof: &Proof<'_>) -> Result<Identity> {
        let metadata = self.metadata().await?;
        let proved = self.prove(&metadata, answer, proof).await;
        if proved.is_err() {
            // Keys may have been replaced: the next sign-in asks for them.
            *self.inner.metadata.lock().await = None;
        }
        proved
    }

    async fn prove(&self, metadata: &Metadata, answer: &Answer<'_>, proof: &Proof<'_>) -> Result<Identity> {
        let named = metadata.additional_metadata().authorization_response_iss_parameter_supported;
        match answer.issuer {
            Some(issuer) if issuer != metadata.issuer().as_str() => return Err(refused("another issuer answered")),
            None if named => return Err(refused("the answer names no issuer")),
            _ => {}
        }
        let client = self.client(metadata)?;
        let http = |request| http::send(self.inner.http.clone(), request);
        let exchange = client.exchange_code(AuthorizationCode::new(answer.code.to_owned())).map_err(refused_by)?;
        let exchange = exchange.set_pkce_verifier(PkceCodeVerifier::new(proof.verifier.to_owned()));
        let tokens = exchange.request_async(&http).await.map_err(|error| match error {
            RequestTokenError::Request(error) => unreachable(&error),
            other => refused_by(other),
        })?;
        let id_token = tokens.id_token().ok_or_else(|| refused("no identity token"))?;
        let mut identity = self.verify(&client, id_token, proof)?;
        let incomplete = identity.groups.is_none() && self.inner.config.group_claim.is_some();
        if (incomplete || identity.preferred_name.is_none()) && metadata.userinfo_endpoint().is_some() {
            self.complete(&client, tokens.access_token().clone(), &mut identity).await?;
        }
        if self.inner.config.group_claim.is_some() {
            // Somebody without the claim is in none of its groups.
            identity.groups.get_or_insert_default();
        }
        Ok(identity)
    }

    fn verify(&self, client: &OidcClient, id_token: &SignedIdToken, proof: &Proof<'_>) -> Result<Identity> {
        let verifier = client.id_token_verifier().set_allowed_algs(ALGORITHMS);
        let nonce = Nonce::new(proof.nonce.to_owned());
        let claims = id_token.claims(&verifier, &nonce).map_err(refused_by)?;
        let party = claims.authorized_party().map(|party| party.as_str());
        if party.is_some_and(|party| party != self.inner.config.client_id) {
            return Err(refused("the identity token is for another party"));
        }
        let proved_at = claims.auth_time().map(|time| Timestamp::from_micros(time.timestamp_micros()));
        if let Some(since) = proof.authenticated_since
            && proved_at.is_none_or(|proved| proved < since.minus(CLOCK_SKEW))
        {
            return Err(refused("the person did not show again who they are"));
        }
        Ok(Identity {
            issuer: claims.issuer().as_str().to_owned(),
            subject: claims.subject().as_str().to_owned(),
            preferred_name: claims.preferred_username().map(|name| name.as_str().to_owned()),
            groups: self.groups(claims.additional_claims()),
            proved_at,
        })
    }

    /// Adds what the provider tells only when it is asked.
    async fn complete(&self, client: &OidcClient, token: AccessToken, identity: &mut Identity) -> Result<()> {
        let http = |request| http::send(self.inner.http.clone(), request);
        let subject = SubjectIdentifier::new(identity.subject.clone());
        let request = client.user_info(token, Some(subject)).map_err(refused_by)?;
        let claims: UserInfo = request.request_async(&http).await.map_err(refused_by)?;
        identity.groups = identity.groups.take().or_else(|| self.groups(claims.additional_claims()));
        let name = claims.preferred_username().map(|name| name.as_str().to_owned());
        identity.preferred_name = identity.preferred_name.take().or(name);
        Ok(())
    }

    fn groups(&self, claims: &MoreClaims) -> Option<Vec<String>> {
        self.inner.config.group_claim.as_ref().and_then(|name| claims.texts(name))
    }

    fn client(&self, metadata: &Metadata) -> Result<OidcClient> {
        let ProviderConfig { client_id, client_secret, redirect_url, .. } = &self.inner.config;
        let secret = client_secret.clone().map(ClientSecret::new);
        let client = OidcClient::from_provider_metadata(metadata.clone(), ClientId::new(client_id.clone()), secret);
        Ok(client.set_redirect_uri(RedirectUrl::from_url(redirect_url.clone())))
    }

    /// What discovery finds, from a short while ago or from now.
    async fn metadata(&self) -> Result<Metadata> {
        let mut cached = self.inner.metadata.lock().await;
        if let Some((found, metadata)) = &*cached
            && found.elapsed() < METADATA_LIFETIME
        {
            return Ok(metadata.clone());
        }
        let issuer = IssuerUrl::new(self.inner.config.issuer.clone()).map_err(Error::internal)?;
        let http = |request| http::send(self.inner.http.clone(), request);
        let found = Metadata::discover_async(issuer, &http).await.map_err(|error| unreachable(&error))?;
        *cached = Some((Instant::now(), found.clone()));
        Ok(found)
    }
}

fn unreachable(error: &dyn std::error::Error) -> Error {
    let message = "the identity provider cannot be asked: try again, or sign in with a password";
    Error::unavailable("identity_provider", message).with_source(chain(error))
}

fn refused(why: &'static str) -> Error {
    Error::unauthenticated()
        .with_message("the identity provider's answer proves nothing: begin the sign-in again")
        .with_source(why)
}

fn refused_by(error: impl std::error::Error) -> Error {
    refused("").with_source(chain(&error))
}

/// An error with its causes, as text: the library's are not all fit to be moved between threads.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
