//! The types of the protocol with claims and metadata of our own.

use std::collections::BTreeMap;

use openidconnect::{
    AdditionalClaims, AdditionalProviderMetadata, Client, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, IdToken, IdTokenFields, ProviderMetadata, StandardErrorResponse, StandardTokenResponse,
    UserInfoClaims,
    core::{
        CoreAuthDisplay, CoreAuthPrompt, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreErrorResponseType,
        CoreGenderClaim, CoreGrantType, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm,
        CoreJweKeyManagementAlgorithm, CoreJwsSigningAlgorithm, CoreResponseMode, CoreResponseType, CoreRevocableToken,
        CoreRevocationErrorResponse, CoreSubjectIdentifierType, CoreTokenIntrospectionResponse, CoreTokenType,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most groups of one person that are looked at.
const MAX_GROUPS: usize = 1000;

/// Every claim that the standard does not name.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct MoreClaims(BTreeMap<String, Value>);

impl AdditionalClaims for MoreClaims {}

impl MoreClaims {
    /// The texts of a claim that is a text or a list of texts; none where the claim is missing or something else.
    pub(crate) fn texts(&self, name: &str) -> Option<Vec<String>> {
        match self.0.get(name)? {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(values) => {
                Some(values.iter().take(MAX_GROUPS).filter_map(Value::as_str).map(str::to_owned).collect())
            }
            _ => None,
        }
    }
}

/// What RFC 9207 adds to a provider's metadata.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct MoreMetadata {
    /// Whether every answer names the issuer.
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for MoreMetadata {}

pub(crate) type Metadata = ProviderMetadata<
    MoreMetadata,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

type Fields = IdTokenFields<
    MoreClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;

pub(crate) type SignedIdToken =
    IdToken<MoreClaims, CoreGenderClaim, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm>;

pub(crate) type UserInfo = UserInfoClaims<MoreClaims, CoreGenderClaim>;

pub(crate) type Tokens = StandardTokenResponse<Fields, CoreTokenType>;

pub(crate) type OidcClient = Client<
    MoreClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_a_text_or_a_list_of_texts() {
        let claims = |text: &str| serde_json::from_str::<MoreClaims>(text).unwrap().texts("groups");
        assert_eq!(claims(r#"{"groups":"a"}"#), Some(vec!["a".into()]));
        assert_eq!(claims(r#"{"groups":["a",1,"b"]}"#), Some(vec!["a".into(), "b".into()]));
        assert_eq!(claims(r#"{"groups":{"a":1}}"#), None);
        assert_eq!(claims("{}"), None);
    }
}
