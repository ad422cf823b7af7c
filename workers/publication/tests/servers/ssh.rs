//! SSH.

use std::{fs, os::unix::fs::PermissionsExt as _};

use pinhole_core::RemoteCredential;
use pinhole_gitcat::{GitAnswer, Operation, PushOutcome};
use tempfile::TempDir;

use crate::{
    site::{Site, draft, look, refusal},
    support::{Sshd, run},
};

fn served() -> (Site, Sshd) {
    let (mut site, server) = (Site::new(), Sshd::start());
    (site.url, site.access) = (server.url(&site.remote()), server.access());
    (site, server)
}

#[test]
fn a_publication_is_pushed_and_read_back() {
    let (site, _server) = served();
    site.publishes_and_reads_back();
}

#[test]
fn keys_of_other_kinds_are_taken() {
    let (mut site, server) = served();
    let keys = TempDir::new().unwrap();
    for (name, kind) in [("rsa", "rsa"), ("ecdsa", "ecdsa"), ("pem", "rsa")] {
        let form: &[&str] = if name == "pem" { &["-m", "PEM"] } else { &[] };
        let arguments = [&["-q", "-t", kind, "-N", "", "-f", name], form].concat();
        run("ssh-keygen", keys.path(), &arguments);
        server.admit(&fs::read_to_string(keys.path().join(format!("{name}.pub"))).unwrap());
        let private_key = fs::read_to_string(keys.path().join(name)).unwrap();
        site.access.credential = Some(RemoteCredential::SshKey { private_key });
        assert_eq!(site.look(&[]), (None, None), "{name}");
    }
}

#[test]
fn a_key_that_is_refused_is_not_given_twice() {
    let (mut site, server) = served();
    let stranger = server.read("stranger");
    let line = stranger.lines().nth(1).unwrap().to_owned();
    site.access.credential = Some(RemoteCredential::SshKey { private_key: stranger });
    let why = refusal(site.ask(look(&[])));
    assert!(why.contains("the server refuses the credential") && !why.contains(&line), "{why}");
    for private_key in ["no key-5b2e", ""] {
        site.access.credential = Some(RemoteCredential::SshKey { private_key: private_key.into() });
        let why = refusal(site.ask(look(&[])));
        assert!(!why.contains("5b2e"), "{why}");
    }
    site.access.credential = Some(RemoteCredential::Password { user: "x".into(), password: "hush".into() });
    assert!(refusal(site.ask(look(&[]))).contains("kind of credential"));
    site.access.credential = None;
    assert!(refusal(site.ask(look(&[]))).contains("the remote has none"));
}

#[test]
fn without_a_user_in_the_url_it_is_git() {
    let (mut site, server) = served();
    let user = site.url.split_once('@').unwrap().0.to_owned();
    site.url = site.url.replace(&format!("{user}@"), "ssh://");
    refusal(site.ask(look(&[])));
    assert!(server.log().contains("user git "), "{}", server.log());
}

#[test]
fn only_the_named_host_key_is_believed() {
    let (mut site, server) = served();
    let right = site.access.host_key.clone().unwrap();
    let commit = site.commit(draft(None, &[]));
    let wrong = format!("SHA256:{}", "A".repeat(43));
    site.access.host_key = Some(wrong.clone());
    for operation in [look(&[]), Operation::Push { commit, expected_head: None }] {
        let why = refusal(site.ask(operation));
        assert!(why.contains(&right) && why.contains(&wrong), "{why}");
    }
    // A home whose owner believes the server.
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join(".ssh")).unwrap();
    fs::set_permissions(home.path().join(".ssh"), fs::Permissions::from_mode(0o700)).unwrap();
    let key = server.read("host.pub");
    let known = format!("[127.0.0.1]:{} {key}", server.address().port());
    fs::write(home.path().join(".ssh/known_hosts"), known).unwrap();
    site.environment = vec![("HOME", home.path().to_owned())];
    site.access.host_key = None;
    let why = refusal(site.ask(look(&[])));
    assert!(why.contains(&right) && why.contains("names none"), "{why}");
    assert_eq!(site.head(), None);
    assert!(!server.log().contains("Accepted"), "nobody signed in: {}", server.log());
}

#[test]
fn what_is_not_there_says_so() {
    let (mut site, _server) = served();
    site.url = site.url.replace("remote.git", "nowhere.git");
    let why = refusal(site.ask(look(&[])));
    assert!(why.contains("nowhere.git"), "{why}");
}

#[test]
fn a_hook_that_declines_is_a_policy() {
    let (site, _server) = served();
    let commit = site.commit(draft(None, &[]));
    site.hook("pre-receive", "echo 'sign the form first'; exit 1");
    let GitAnswer::Push { outcome: PushOutcome::Rejected { why, policy: true } } =
        site.ask(Operation::Push { commit, expected_head: None })
    else {
        panic!()
    };
    assert!(why.contains("sign the form first"), "{why}");
}
