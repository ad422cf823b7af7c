//! Passwords, sign-in links, failed sign-ins, identities, and sign-ins begun at a provider.

use pinhole_core::PrincipalClass;
use pinhole_store::{OidcFlow, Session, SignInFailures, SignInLink};
use pinhole_testkit::Engine;

use crate::{
    rows::{AWKWARD, sha256},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    passwords
    sign_in_links
    sign_in_failures
    identities
    oidc_flows
    other_sessions
    administrators
}

async fn passwords(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let mut tx = fixture.write().await;
    assert_eq!(tx.password_of(ground.principal.id).await.unwrap(), None);
    for hash in ["$argon2id$one", "$argon2id$two"] {
        tx.put_password(ground.principal.id, hash).await.unwrap();
        assert_eq!(tx.password_of(ground.principal.id).await.unwrap().as_deref(), Some(hash));
    }
    assert_eq!(tx.password_of(id!(fixture, PrincipalId)).await.unwrap(), None);
}

async fn sign_in_links(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let bob = fixture.principal(PrincipalClass::User, "bob");
    let link = |secret: &str, principal_id| SignInLink {
        secret_sha256: sha256(secret),
        principal_id,
        created_at: at(0),
        expires_at: at(10),
        used_at: None,
    };
    let mut tx = fixture.write().await;
    tx.insert_principal(&bob).await.unwrap();
    let (first, second, of_bob) =
        (link("first", ground.principal.id), link("second", ground.principal.id), link("bob", bob.id));
    for link in [&first, &second, &of_bob] {
        tx.insert_sign_in_link(link).await.unwrap();
        assert_same(tx.sign_in_link(link.secret_sha256).await.unwrap(), Some(link.clone()));
    }
    assert!(tx.sign_in_link(sha256("unknown")).await.unwrap().is_none());

    assert_eq!(tx.end_sign_in_links_of(ground.principal.id).await.unwrap(), 2);
    assert_eq!(tx.end_sign_in_links_of(ground.principal.id).await.unwrap(), 0);
    let used = SignInLink { used_at: Some(tx.now()), ..second };
    assert_same(tx.sign_in_link(used.secret_sha256).await.unwrap(), Some(used));
    assert_same(tx.sign_in_link(of_bob.secret_sha256).await.unwrap(), Some(of_bob));
    assert_exists(tx.insert_sign_in_link(&first).await);
}

async fn sign_in_failures(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (ada, bob) = (sha256("ada"), sha256("bob"));
    let mut tx = fixture.write().await;
    let began = tx.now();
    let failures = |failures| Some(SignInFailures { failures, window_began_at: began });
    assert_eq!(tx.sign_in_failures(ada).await.unwrap(), None);
    for count in 1..=3 {
        tx.count_sign_in_failure(ada).await.unwrap();
        assert_eq!(tx.sign_in_failures(ada).await.unwrap(), failures(count));
    }
    tx.count_sign_in_failure(bob).await.unwrap();
    tx.clear_sign_in_failures(ada).await.unwrap();
    assert_eq!(tx.sign_in_failures(ada).await.unwrap(), None);
    tx.forget_sign_in_failures(at(0)).await.unwrap();
    assert_eq!(tx.sign_in_failures(bob).await.unwrap(), failures(1));
    tx.forget_sign_in_failures(began).await.unwrap();
    assert_eq!(tx.sign_in_failures(bob).await.unwrap(), None);
}

async fn identities(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let mut tx = fixture.write().await;
    tx.insert_identity("https://one.example", AWKWARD, ground.principal.id).await.unwrap();
    let found = tx.principal_by_identity("https://one.example", AWKWARD).await.unwrap();
    assert_eq!(found, Some(ground.principal.id));
    // Another issuer's subject of the same text is somebody else, and so is another case.
    for (issuer, subject) in [("https://two.example", AWKWARD), ("https://One.example", AWKWARD)] {
        assert_eq!(tx.principal_by_identity(issuer, subject).await.unwrap(), None, "{issuer}");
    }
    tx.insert_identity("https://two.example", AWKWARD, ground.principal.id).await.unwrap();
    assert_exists(tx.insert_identity("https://one.example", AWKWARD, ground.principal.id).await);
}

async fn oidc_flows(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let flow = |state: &str, session_id| OidcFlow {
        state_sha256: sha256(state),
        nonce: "nonce".into(),
        verifier: "verifier".into(),
        session_id,
        return_to: "/runs?a=b".into(),
        created_at: at(0),
        expires_at: at(10),
        used_at: None,
    };
    let plain = |flow: Option<OidcFlow>| {
        flow.map(|flow| {
            let OidcFlow { state_sha256, nonce, verifier, session_id, return_to, created_at, expires_at, used_at } =
                flow;
            (state_sha256, nonce, verifier, session_id, return_to, created_at, expires_at, used_at)
        })
    };
    let mut tx = fixture.write().await;
    let (first, second) = (flow("first", None), flow("second", Some(id!(fixture, SessionId))));
    for flow in [&first, &second] {
        tx.insert_oidc_flow(flow).await.unwrap();
        assert_same(plain(tx.oidc_flow(flow.state_sha256).await.unwrap()), plain(Some(flow.clone())));
    }
    assert!(tx.oidc_flow(sha256("unknown")).await.unwrap().is_none());
    assert!(tx.use_oidc_flow(first.state_sha256).await.unwrap());
    assert!(!tx.use_oidc_flow(first.state_sha256).await.unwrap());
    assert!(!tx.use_oidc_flow(sha256("unknown")).await.unwrap());
    let used = OidcFlow { used_at: Some(tx.now()), ..first };
    assert_same(plain(tx.oidc_flow(used.state_sha256).await.unwrap()), plain(Some(used)));
    tx.forget_oidc_flows(at(9)).await.unwrap();
    assert!(tx.oidc_flow(second.state_sha256).await.unwrap().is_some());
    tx.forget_oidc_flows(at(10)).await.unwrap();
    assert!(tx.oidc_flow(second.state_sha256).await.unwrap().is_none());
}

async fn other_sessions(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let session = |secret: &str| Session {
        id: id!(fixture, SessionId),
        principal_id: ground.principal.id,
        secret_sha256: sha256(secret),
        method: "password".into(),
        created_at: at(0),
        reauthenticated_at: at(0),
        last_used_at: at(0),
        expires_at: at(10),
        ended_at: None,
    };
    let (kept, other) = (session("kept"), session("other"));
    let mut tx = fixture.write().await;
    for session in [&kept, &other] {
        tx.insert_session(session).await.unwrap();
    }
    assert_eq!(tx.end_other_sessions_of(ground.principal.id, kept.id).await.unwrap(), 1);
    assert_eq!(tx.end_other_sessions_of(ground.principal.id, kept.id).await.unwrap(), 0);
    assert!(tx.session(kept.id).await.unwrap().unwrap().ended_at.is_none());
    assert!(tx.session(other.id).await.unwrap().unwrap().ended_at.is_some());
}

async fn administrators(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut tx = fixture.write().await;
    assert!(!tx.has_administrator().await.unwrap());
    let mut ada = fixture.principal(PrincipalClass::User, "ada");
    tx.insert_principal(&ada).await.unwrap();
    assert!(!tx.has_administrator().await.unwrap());
    ada = fixture.principal(PrincipalClass::User, "root");
    ada.admin_since = Some(at(1));
    tx.insert_principal(&ada).await.unwrap();
    assert!(!tx.has_administrator().await.unwrap(), "root has no way in");
    let token = fixture.token(ada.id, "root");
    tx.insert_token(&token).await.unwrap();
    assert!(tx.has_administrator().await.unwrap());
    assert!(tx.revoke_token(token.id).await.unwrap());
    assert!(!tx.has_administrator().await.unwrap());
    tx.insert_identity("https://id.example", "root", ada.id).await.unwrap();
    assert!(tx.has_administrator().await.unwrap());
    tx.put_password(ada.id, "hash").await.unwrap();
    assert!(tx.has_administrator().await.unwrap());
    tx.set_principal_disabled(ada.id, Some(at(2))).await.unwrap();
    assert!(!tx.has_administrator().await.unwrap());
}
