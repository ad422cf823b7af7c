//! Bounded texts. Each type enforces what its schema says, so that nothing unbounded gets past deserialisation.
//! Patterns keep to what every dialect of regular expressions has: clients read them with their own.

use crate::bounded_texts;

bounded_texts! {
    /// A short name in URLs and Git paths: projects, environments, scenarios, remotes, checkpoints.
    Slug, 1..=64, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", is_slug,
        "expected 1 to 64 lower-case letters, digits and inner hyphens";
    /// A catalog line: a slug, with slashes between parts.
    LineName, 1..=100, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?(/[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$",
        |text| text.split('/').all(is_slug),
        "expected 1 to 100 characters: lower-case letters, digits and hyphens, with slashes between parts";
    /// One line of text for people: names and release labels.
    Name, 1..=100, "^[^\\x00-\\x1f\\x7f-\\x9f]+$", is_one_line, "expected 1 to 100 characters without control characters";
    /// One line of text for people: titles.
    Title, 1..=200, "^[^\\x00-\\x1f\\x7f-\\x9f]+$", is_one_line, "expected 1 to 200 characters without control characters";
    /// Why somebody did something; recorded for ever.
    Reason, 1..=2000, "^[^\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f]*$", |text| text.chars().all(|c| c == '\n' || !c.is_control()) && !text.trim().is_empty(),
        "expected 1 to 2000 characters, not only white space, without control characters";
    /// A caller's key for one intent.
    IdempotencyKey, 1..=200, "^[!-~]+$", |text| text.bytes().all(|b| b.is_ascii_graphic()),
        "expected 1 to 200 visible ASCII characters";
    /// The name of a secret of an environment.
    SecretName, 1..=64, "^[A-Z][A-Z0-9_]*$",
        |text| text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'),
        "expected 1 to 64 upper-case letters, digits and underscores, a letter first";
    /// The name of an HTTP header.
    HeaderName, 1..=100, "^[A-Za-z][A-Za-z0-9-]*$",
        |text| text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'),
        "expected 1 to 100 letters, digits and hyphens, a letter first";
    /// The value of an HTTP header.
    HeaderValue, 1..=1000, "^[!-~]([ -~]*[!-~])?$",
        |text| text.bytes().all(|b| matches!(b, b' '..=b'~')) && text.trim() == text,
        "expected 1 to 1000 ASCII characters without control characters and outer spaces";
}

fn is_slug(text: &str) -> bool {
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && edge(text.bytes().next())
        && edge(text.bytes().last())
}

fn is_one_line(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

impl Default for LineName {
    /// The line `main`.
    fn default() -> Self {
        Self("main".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_and_lines() {
        assert!("cart-2".parse::<Slug>().is_ok());
        for wrong in ["", "-a", "a-", "A", "a b", "../x", "a/b", "é"] {
            assert!(wrong.parse::<Slug>().is_err(), "{wrong}");
        }
        assert!("release/2-1".parse::<LineName>().is_ok());
        assert!("release//x".parse::<LineName>().is_err());
        assert!("a".repeat(65).parse::<Slug>().is_err());
    }

    #[test]
    fn a_reason_is_not_blank() {
        assert!(" \n".parse::<Reason>().is_err());
        assert!("looks right\nto me".parse::<Reason>().is_ok());
        assert!("bell\u{7}".parse::<Reason>().is_err());
    }
}
