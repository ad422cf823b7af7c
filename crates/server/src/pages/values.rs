//! Extracted values side by side, as markup: what each field was before, and what it is now.
//!
//! The bytes are read as the visitor, like any other download of theirs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use pinhole_contract::ArtifactView;
use pinhole_core::{Code, Error, Result};
use serde_json::Value;

use super::{html::esc, parts::badge, visitor::Visitor};

/// The largest file of values that is shown in a page, in bytes; a larger one is linked only.
const MAX_BYTES: u64 = 256 * 1024;
/// Letters of one value that are shown.
const MAX_LETTERS: usize = 500;

type Values = BTreeMap<String, Value>;

/// One file of values, as far as a page can show it.
enum File {
    Absent,
    Shown(Values),
    /// Why not.
    Hidden(&'static str),
}

/// A table of `before` and `after`, and links to both files. `none` says why there is nothing before.
///
/// # Errors
/// Those of reading the files; what retention has removed is told instead.
pub(super) async fn side_by_side(
    visitor: &Visitor,
    (before, none): (Option<&ArtifactView>, &str),
    after: Option<&ArtifactView>,
) -> Result<String> {
    let mut html = match (read(visitor, before).await?, read(visitor, after).await?) {
        (File::Hidden(why), _) | (_, File::Hidden(why)) => format!("<p class=\"empty\">{why}</p>\n"),
        (old, new) => table(&old.values(), &new.values()),
    };
    if before.is_none() {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(html, "<p class=\"faint\">{none}</p>");
    }
    for (name, artifact) in [("values before", before), ("values now", after)] {
        let Some(artifact) = artifact else { continue };
        let _ = writeln!(
            html,
            "<p class=\"faint\"><a href=\"{}\">File of the {name}</a>, {} bytes</p>",
            esc(&artifact.content.path),
            artifact.size_bytes
        );
    }
    Ok(html)
}

impl File {
    fn values(self) -> Values {
        if let Self::Shown(values) = self { values } else { Values::new() }
    }
}

async fn read(visitor: &Visitor, artifact: Option<&ArtifactView>) -> Result<File> {
    let Some(artifact) = artifact else { return Ok(File::Absent) };
    if artifact.size_bytes > MAX_BYTES {
        return Ok(File::Hidden("There is too much to show here: see the files."));
    }
    let content = visitor.app().artifact_content(&visitor.actor, artifact.id).await?;
    match content.read().await {
        Ok(bytes) => serde_json::from_slice(&bytes).map(File::Shown).map_err(Error::internal),
        Err(error) if error.code() == Code::Gone => Ok(File::Hidden("The values are not kept any more.")),
        Err(error) => Err(error),
    }
}

fn table(before: &Values, after: &Values) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Field</th><th scope=\"col\">Before</th>\
         <th scope=\"col\">Now</th><th scope=\"col\"></th></tr></thead>\n<tbody>\n",
    );
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        let word = match (old, new) {
            (Some(old), Some(new)) if old == new => String::new(),
            (Some(_), Some(_)) => badge("changed"),
            (None, _) if before.is_empty() => String::new(),
            (None, _) => badge("added"),
            (_, None) if after.is_empty() => String::new(),
            (_, None) => badge("removed"),
        };
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{word}</td></tr>",
            esc(name),
            cell(old),
            cell(new)
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}

/// A value in words: a text as it is, anything else as in JSON.
fn cell(value: Option<&Value>) -> String {
    let text = match value {
        None => return "–".to_owned(),
        Some(Value::String(text)) if text.is_empty() => return "<span class=\"faint\">empty text</span>".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let shown: String = text.chars().take(MAX_LETTERS).collect();
    let more = text.chars().count() - shown.chars().count();
    let more = if more == 0 { String::new() } else { format!(" <span class=\"faint\">and {more} more letters</span>") };
    format!("<span class=\"value\">{}</span>{more}", esc(shown))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(value: Value) -> Values {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn each_field_is_told_with_what_became_of_it() {
        let before = values(json!({ "gone": "x", "same": 1, "total": "42" }));
        let after = values(json!({ "fresh": "", "same": 1, "total": "<b>43" }));
        let html = table(&before, &after);
        for line in [
            "<tr><td>fresh</td><td>–</td><td><span class=\"faint\">empty text</span></td><td>\
             <span class=\"badge added\">added</span></td></tr>",
            "<tr><td>same</td><td><span class=\"value\">1</span></td><td><span class=\"value\">1</span></td><td></td></tr>",
            "<span class=\"value\">&lt;b&gt;43</span></td><td><span class=\"badge changed\">changed</span>",
            "<td>gone</td><td><span class=\"value\">x</span></td><td>–</td><td><span class=\"badge removed\">",
        ] {
            assert!(html.contains(line), "{line}: {html}");
        }
        // Where nothing was before, nothing was added to it.
        assert!(!table(&Values::new(), &after).contains("badge"));
    }

    #[test]
    fn long_values_are_cut() {
        let html = cell(Some(&json!("é".repeat(MAX_LETTERS + 3))));
        assert!(html.ends_with("<span class=\"faint\">and 3 more letters</span>"), "{html}");
    }
}
