//! Smart HTTP with TLS.

use pinhole_core::{RemoteAccess, RemoteCredential};
use pinhole_gitcat::{GitAnswer, Operation, PushOutcome};

use crate::{
    site::{Site, draft, look, passing, refusal},
    support::{Apache, PASSWORD},
};

async fn served() -> (Site, Apache) {
    let mut site = Site::new();
    let server = Apache::start(site.folder.path()).await;
    (site.url, site.access) = (server.url(), server.access());
    (site, server)
}

fn password(password: &str) -> Option<RemoteCredential> {
    Some(RemoteCredential::Password { user: "pinhole".into(), password: password.into() })
}

#[tokio::test]
async fn a_publication_is_pushed_and_read_back() {
    let (site, _server) = served().await;
    site.publishes_and_reads_back();
}

#[tokio::test]
async fn a_credential_that_is_refused_is_not_given_twice() {
    let (mut site, server) = served().await;
    let commit = site.commit(draft(None, &[]));
    let push = Operation::Push { commit, expected_head: None };
    let access = site.access.clone();
    site.access.credential = password("wrong-70d1f3");
    for operation in [look(&[]), push.clone(), Operation::ReadBack { commit, expected_head: None }] {
        let why = refusal(site.ask(operation));
        assert!(why.contains("the server refuses the credential") && !why.contains("70d1f3"), "{why}");
    }
    site.access.credential = None;
    assert!(refusal(site.ask(look(&[]))).contains("the remote has none"));
    site.access.credential = Some(RemoteCredential::SshKey { private_key: "-".into() });
    assert!(refusal(site.ask(look(&[]))).contains("kind of credential"));
    // It was right, and then it expires.
    site.access = access;
    assert_eq!(site.look(&[]), (None, None));
    server.change_password("another");
    assert!(refusal(site.ask(push)).contains("the server refuses the credential"));
    assert_eq!(site.head(), None);
}

#[tokio::test]
async fn a_server_is_known_by_the_given_certificates_alone() {
    let (mut site, server) = served().await;
    assert_eq!(site.look(&[]), (None, None));
    let other = Apache::start(site.folder.path()).await;
    let invalid = |why: String| assert!(why.contains("certificate"), "{why}");
    // Of another server, none that can be read, and the system's.
    for pem in [Some(other.certificate()), Some("no certificate".into()), None] {
        site.access.certificate_authorities = pem;
        invalid(refusal(site.ask(look(&[]))));
    }
    // Another name than the certificate's.
    site.access = server.access();
    site.url = site.url.replace("127.0.0.1", "localhost");
    invalid(refusal(site.ask(look(&[]))));
}

#[tokio::test]
async fn a_server_that_the_system_knows_needs_no_certificates_and_does_not_pass_for_others() {
    let (mut site, server) = served().await;
    let other = Apache::start(site.folder.path()).await;
    let system = site.folder.path().join("system.pem");
    std::fs::write(&system, server.certificate()).unwrap();
    site.environment = vec![("SSL_CERT_FILE", system)];
    site.access.certificate_authorities = None;
    assert_eq!(site.look(&[]), (None, None));
    site.access.certificate_authorities = Some(other.certificate());
    assert!(refusal(site.ask(look(&[]))).contains("certificate"));
}

#[tokio::test]
async fn both_of_two_given_certificates_are_believed() {
    let (mut site, server) = served().await;
    let other = Apache::start(site.folder.path()).await;
    site.access.certificate_authorities = Some(format!("{}{}", other.certificate(), server.certificate()));
    assert_eq!(site.look(&[]), (None, None));
    site.url = other.url();
    assert_eq!(site.look(&[]), (None, None));
}

#[tokio::test]
async fn statuses_mean_what_may_help() {
    let (site, server) = served().await;
    let commit = site.commit(draft(None, &[]));
    let push = || site.ask(Operation::Push { commit, expected_head: None });
    for status in ["403", "404"] {
        for request in ["look", "push"] {
            server.answer(request, status, true);
            assert!(refusal(push()).contains(status));
            server.answer(request, status, false);
        }
    }
    for status in ["429", "500", "503"] {
        for request in ["look", "push"] {
            server.answer(request, status, true);
            assert!(passing(push()).contains(status));
            server.answer(request, status, false);
        }
    }
    assert_eq!(push(), GitAnswer::Push { outcome: PushOutcome::Pushed });
    server.answer("fetch", "503", true);
    let fresh = || site.ask_in("fresh.git", Operation::ReadBack { commit, expected_head: None });
    assert!(passing(fresh()).contains("503"));
    server.answer("fetch", "503", false);
    assert!(matches!(fresh(), GitAnswer::ReadBack { on_branch: true, .. }));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (site, server) = served().await;
    let commit = site.commit(draft(None, &[]));
    for target in ["away", "aside"] {
        for request in ["look", "push"] {
            server.answer(request, target, true);
            let why = refusal(site.ask(Operation::Push { commit, expected_head: None }));
            assert!(why.contains("redirect"), "{why}");
            server.answer(request, target, false);
        }
    }
    assert_eq!(site.head(), None);
}

#[tokio::test]
async fn what_is_not_git_over_https_says_so() {
    let (mut site, server) = served().await;
    let right = site.url.clone();
    site.url = right.replace("remote.git", "nowhere.git");
    refusal(site.ask(look(&[])));
    site.url = right.replace("https:", "http:");
    assert!(refusal(site.ask(look(&[]))).contains("cannot speak http:"));
    site.url = right.replace("https:", "ssh:").replace("/git/", "/");
    assert!(matches!(site.ask(look(&[])), GitAnswer::Failed { .. }));
    drop(server);
    site.url = right;
    passing(site.ask(look(&[])));
}

#[tokio::test]
async fn no_message_holds_the_password() {
    let (mut site, server) = served().await;
    let commit = site.commit(draft(None, &[]));
    let push = Operation::Push { commit, expected_head: None };
    let silent = |answer: GitAnswer| {
        let text = serde_json::to_string(&answer).unwrap();
        assert!(!text.contains(PASSWORD) && !text.contains("hush"), "{text}");
        answer
    };
    // A server that repeats it, in the clear and as it was sent.
    site.hook("pre-receive", &format!("echo 'you are {PASSWORD}, cGluaG9sZTpodXNoLTRmMWM5YTdlMmI='; exit 1"));
    let GitAnswer::Push { outcome: PushOutcome::Rejected { why, policy: true } } = silent(site.ask(push.clone()))
    else {
        panic!()
    };
    assert!(why.contains("you are ***, ***"), "{why}");
    for status in ["401", "403", "500"] {
        server.answer("push", status, true);
        silent(site.ask(push.clone()));
        server.answer("push", status, false);
    }
    site.access = RemoteAccess { certificate_authorities: None, ..site.access };
    silent(site.ask(look(&[])));
    site.url = site.url.replace("https://", &format!("https://pinhole:{PASSWORD}@"));
    silent(site.ask(look(&[])));
}
