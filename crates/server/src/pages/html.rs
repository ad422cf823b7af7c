//! Writing HTML: everything that is not markup of ours goes through [`esc`].

use std::fmt::{self, Display, Write};

/// Shows `value` as text within an element or a quoted attribute. Control and direction characters are shown as their
/// code, so that captured text cannot rearrange the page that reports on it.
pub(super) fn esc<T: Display>(value: T) -> impl Display {
    Escaped(value)
}

struct Escaped<T>(T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaper(f), "{}", self.0)
    }
}

struct Escaper<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Escaper<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            match letter {
                '&' => self.0.write_str("&amp;")?,
                '<' => self.0.write_str("&lt;")?,
                '>' => self.0.write_str("&gt;")?,
                '"' => self.0.write_str("&quot;")?,
                '\'' => self.0.write_str("&#39;")?,
                '\n' => self.0.write_char('\n')?,
                letter if is_hidden(letter) => write!(self.0, "\\u{{{:x}}}", u32::from(letter))?,
                letter => self.0.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// Control, zero-width and direction characters.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        let text = esc(r#"<img src=x onerror="a('b')"> & co"#).to_string();
        assert_eq!(text, "&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt; &amp; co");
    }

    #[test]
    fn hidden_characters_are_shown() {
        assert_eq!(esc("a\u{202e}b\u{1b}[0m\u{200b}\nc").to_string(), "a\\u{202e}b\\u{1b}[0m\\u{200b}\nc");
    }
}
