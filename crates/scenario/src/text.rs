//! Bounded texts of the language. A value of these types has passed its rule; nothing else checks it again.

use std::str::FromStr;

use pinhole_core::{Error, Result, bounded_texts};
use url::Url;

bounded_texts! {
    /// A text to look for: a selector, a label, a part of a text.
    Text, 1..=2000, "^[^\\u0000]*$", has_no_nul, "expected 1 to 2000 characters without NUL";
    /// A text to type or to compare with; it may be empty.
    Value, 0..=10000, "^[^\\u0000]*$", has_no_nul, "expected at most 10000 characters without NUL";
    /// Name of an HTML attribute, in lower case.
    AttributeName, 1..=100, "^[a-z_:][a-z0-9_:.-]*$", is_attribute_name,
        "expected an attribute name in lower case, such as href or data-state";
    /// Where to navigate: a path below the environment's base URL, or an absolute `http` or `https` URL.
    Target, 1..=2000, "^(/|/[^/].*|https?://.+)$", is_target,
        "expected a path that starts with one slash, or an absolute http or https URL without blanks and credentials";
    /// A key with its modifiers, such as `Enter`, `a` or `Control+Shift+K`. Key names are those of UI Events
    /// KeyboardEvent `key` values (W3C), with `Space` for the blank and `Plus` for the plus sign.
    KeyChord, 1..=64, "^[^\\u0000-\\u0020\\u007F]+$", is_key_chord,
        "expected a key such as Enter, ArrowDown, F2 or one character, after modifiers such as Control+ or Shift+";
}

fn has_no_nul(text: &str) -> bool {
    !text.contains('\0')
}

fn is_attribute_name(text: &str) -> bool {
    let first = |b: u8| b.is_ascii_lowercase() || matches!(b, b'_' | b':');
    text.bytes().next().is_some_and(first)
        && text.bytes().all(|b| first(b) || b.is_ascii_digit() || matches!(b, b'.' | b'-'))
}

fn is_target(text: &str) -> bool {
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return false;
    }
    if let Some(rest) = text.strip_prefix('/') {
        return !rest.starts_with('/');
    }
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return false;
    }
    Url::parse(text).is_ok_and(|url| url.has_host() && url.username().is_empty() && url.password().is_none())
}

impl Target {
    /// Whether it names its own host, which the environment must allow.
    pub fn is_absolute(&self) -> bool {
        !self.0.starts_with('/')
    }

    /// The address to open. A path is put after the path of `base`, so that `/cart` below `https://host/preview/7`
    /// is `https://host/preview/7/cart`; query and fragment of `base` are left out.
    pub fn resolve(&self, base: &Url) -> Result<Url> {
        let wrong = |_| Error::invalid("navigate", format!("{self} cannot be opened below {base}"));
        if self.is_absolute() {
            return Url::parse(&self.0).map_err(wrong);
        }
        let prefix = base.path().trim_end_matches('/');
        base.join(&format!("{prefix}{}", self.0)).map_err(wrong)
    }
}

/// A key that is held while another is pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Modifier {
    /// Alt or Option.
    Alt,
    /// Control.
    Control,
    /// Command or Windows.
    Meta,
    /// Shift.
    Shift,
}

impl FromStr for Modifier {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "Alt" => Ok(Self::Alt),
            "Control" => Ok(Self::Control),
            "Meta" => Ok(Self::Meta),
            "Shift" => Ok(Self::Shift),
            _ => Err(Error::invalid("", "expected Alt, Control, Meta or Shift")),
        }
    }
}

/// Keys that have a name; any other key is one character.
const NAMED_KEYS: [&str; 29] = [
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "ArrowUp",
    "Backspace",
    "ContextMenu",
    "Delete",
    "End",
    "Enter",
    "Escape",
    "F1",
    "F2",
    "F3",
    "F4",
    "F5",
    "F6",
    "F7",
    "F8",
    "F9",
    "F10",
    "F11",
    "F12",
    "Home",
    "Insert",
    "PageDown",
    "PageUp",
    "Plus",
    "Space",
    "Tab",
];

fn is_key_chord(text: &str) -> bool {
    let (modifiers, key) = split_chord(text);
    let mut seen = Vec::new();
    let once = modifiers.map(str::parse::<Modifier>).all(|modifier| {
        modifier.is_ok_and(|modifier| {
            let new = !seen.contains(&modifier);
            seen.push(modifier);
            new
        })
    });
    let mut chars = key.chars();
    let one = chars.next().is_some_and(|c| !c.is_control() && !c.is_whitespace() && c != '+') && chars.next().is_none();
    once && (one || NAMED_KEYS.contains(&key))
}

fn split_chord(text: &str) -> (impl Iterator<Item = &str>, &str) {
    let (before, key) = text.rsplit_once('+').map_or((None, text), |(before, key)| (Some(before), key));
    (before.into_iter().flat_map(|before| before.split('+')), key)
}

impl KeyChord {
    /// The modifiers, in the order written.
    pub fn modifiers(&self) -> impl Iterator<Item = Modifier> {
        split_chord(&self.0).0.filter_map(|part| part.parse().ok())
    }

    /// The key itself: one character, or a name of [`KeyChord`]'s list.
    pub fn key(&self) -> &str {
        split_chord(&self.0).1
    }
}
