//! Tests of what is told apart before anything is stored: names of branches, keys and certificates.

use pinhole_testkit::{SshKey, certificate};
use proptest::prelude::*;

use super::*;

#[test]
fn branches_are_named_as_publications_name_them() {
    for right in ["main", "release/*", "rel-*", "*"] {
        assert!(is_branch_pattern(right), "{right}");
    }
    for wrong in ["", "/x", "a//b", "a/*/b", "**", "a b", "refs/../x", "-a"] {
        assert!(!is_branch_pattern(wrong), "{wrong}");
    }
}

#[test]
fn keys_of_openssh_are_taken_with_their_public_half() {
    for arguments in [
        &["-t", "ed25519"][..],
        &["-t", "rsa", "-b", "2048"],
        &["-t", "ecdsa", "-b", "256"],
        &["-t", "ecdsa", "-b", "384"],
        &["-t", "ecdsa", "-b", "521"],
    ] {
        let made = SshKey::made_with(arguments);
        let checked = ssh_key::check("key", &format!("  \r\n{}", made.private.replace('\n', "\r\n"))).unwrap();
        assert_eq!(checked.text, made.private, "{arguments:?}");
        let public = checked.public_key.unwrap();
        assert_eq!(Some(public.as_str()), made.public.strip_suffix(" a comment"), "{arguments:?}");
        assert_eq!(ssh_key::fingerprint(&public), Some(made.fingerprint));
    }
}

#[test]
fn keys_in_pem_are_taken() {
    for arguments in [
        &["-m", "PEM", "-t", "rsa", "-b", "2048"][..],
        &["-m", "PKCS8", "-t", "rsa", "-b", "2048"],
        &["-m", "PEM", "-t", "ecdsa"],
        &["-m", "PKCS8", "-t", "ecdsa"],
    ] {
        let made = SshKey::made_with(arguments);
        let checked = ssh_key::check("key", &made.private).unwrap();
        assert_eq!((checked.text, checked.public_key), (made.private, None), "{arguments:?}");
    }
}

/// Why `text` is refused, with nothing of it quoted.
fn refusal(text: &str) -> String {
    let error = ssh_key::check("key", text).err().unwrap_or_else(|| unreachable!("{text} was taken"));
    let quoted = text.split_whitespace().find(|word| word.len() > 20 && format!("{error:?}").contains(word));
    assert_eq!(quoted, None);
    error.message().to_owned()
}

#[test]
fn what_is_no_usable_key_is_told_apart() {
    for arguments in [
        &["-t", "ed25519", "-N", "a passphrase"][..],
        &["-m", "PEM", "-t", "rsa", "-b", "2048", "-N", "a passphrase"],
        &["-m", "PKCS8", "-t", "rsa", "-b", "2048", "-N", "a passphrase"],
    ] {
        assert!(refusal(&SshKey::made_with(arguments).private).contains("is encrypted"), "{arguments:?}");
    }
    let made = SshKey::made_with(&["-t", "ed25519"]);
    assert!(refusal(&made.public).contains("is a public key"));
    let lines: Vec<_> = made.private.lines().collect();
    let without = |index: usize| {
        let kept = lines.iter().enumerate().filter(|(line, _)| *line != index);
        kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    for index in 1..lines.len() {
        assert!(refusal(&without(index)).contains("damaged"), "without line {index}");
    }
    assert!(refusal(&without(0)).contains("expected one private key"));
    assert!(refusal(&made.private.repeat(2)).contains("expected one private key"));
    assert!(refusal(&certificate().0).contains("expected one private key"));
    for (text, reason) in [
        ("", "expected one private key"),
        ("hunter2", "expected one private key"),
        ("PuTTY-User-Key-File-3: ssh-ed25519\n", "PuTTY"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "is a public key"),
        ("-----BEGIN DSA PRIVATE KEY-----\nMAA=\n-----END DSA PRIVATE KEY-----\n", "Ed25519, ECDSA or RSA"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMAA=\n-----END RSA PRIVATE KEY-----\n", "damaged"),
    ] {
        assert!(refusal(text).contains(reason), "{text}");
    }
}

#[test]
fn certificates_are_kept_and_nothing_beside_them() {
    let ((first, first_digest), (second, second_digest)) = (certificate(), certificate());
    let checked = certificates::check(&format!("# ours\r\n{first}\n\n# theirs\n{second}")).unwrap();
    assert_eq!(checked, format!("{first}{second}"));
    let digests: Vec<_> = certificates::fingerprints(&checked).iter().map(|digest| digest.hex()).collect();
    assert_eq!(digests, [first_digest, second_digest]);
    let lines: Vec<_> = first.lines().collect();
    let cut = [&lines[..2], &lines[3..]].concat().join("\n");
    let key = SshKey::made_with(&["-m", "PKCS8", "-t", "ecdsa"]).private;
    let disguised = key.replace("PRIVATE KEY", "CERTIFICATE");
    for wrong in
        ["", "hunter2", &cut, &format!("{first}{key}"), &disguised, &first.repeat(51), &first[..first.len() - 30]]
    {
        let error = certificates::check(wrong).unwrap_err();
        assert_eq!(error.details().field.as_deref(), Some("certificate_authorities"), "{wrong}");
    }
}

proptest! {
    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), label in "[A-Z ]{0,20}", text in "\\PC{0,200}") {
        use base64::Engine as _;
        let encoded = base64::engine::general_purpose::STANDARD.encode([b"openssh-key-v1\0", &bytes[..]].concat());
        for label in [label.as_str(), "OPENSSH PRIVATE KEY", "PRIVATE KEY", "CERTIFICATE"] {
            let block = format!("-----BEGIN {label}-----\n{encoded}\n-----END {label}-----\n");
            let _ = (ssh_key::check("key", &block), certificates::check(&block));
        }
        let _ = (ssh_key::check("key", &text), certificates::check(&text), pem::sequence(&bytes).is_some());
    }
}
