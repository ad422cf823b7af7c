//! `Content-Disposition` (RFC 6266): whether a browser shows the bytes or saves them, and under which name.

use std::fmt::Write;

/// Media types that a browser may show; every other could be active content.
const SHOWN: [&str; 1] = ["image/png"];

/// The header's value for bytes of `media_type` named `file_name`.
pub(super) fn disposition(media_type: &str, file_name: &str) -> String {
    let kind = if SHOWN.contains(&media_type) { "inline" } else { "attachment" };
    let plain: String = file_name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut value = format!("{kind}; filename=\"{plain}\"");
    if plain != file_name {
        value.push_str("; filename*=UTF-8''");
        for byte in file_name.bytes() {
            let letter = char::from(byte);
            // Writing to a string cannot fail.
            let _ = if is_plain(letter) { write!(value, "{letter}") } else { write!(value, "%{byte:02X}") };
        }
    }
    value
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_shown_and_the_rest_is_saved() {
        assert_eq!(disposition("image/png", "cart-picture.png"), "inline; filename=\"cart-picture.png\"");
        assert_eq!(disposition("text/html", "page.html"), "attachment; filename=\"page.html\"");
        assert_eq!(disposition("image/svg+xml", "a.svg"), "attachment; filename=\"a.svg\"");
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        assert_eq!(
            disposition("image/png", "a\"; x/é.png"),
            "inline; filename=\"a___x__.png\"; filename*=UTF-8''a%22%3B%20x%2F%C3%A9.png"
        );
        assert!(disposition("image/png", "a\r\nb").is_ascii());
    }
}
