//! Keys as the scenario names them, as the key events that a US keyboard sends. Pure.

use chromiumoxide::{
    cdp::browser_protocol::input::{DispatchKeyEventParams, DispatchKeyEventType},
    keys::USKEYBOARD_LAYOUT,
};
use pinhole_scenario::{KeyChord, Modifier};

/// The events of one chord in order: modifiers down, key down and up, modifiers up.
pub(crate) fn events(chord: &KeyChord) -> Vec<DispatchKeyEventParams> {
    let mut held = 0;
    let mut events = Vec::new();
    let modifiers: Vec<Modifier> = chord.modifiers().collect();
    for modifier in &modifiers {
        let (name, bit) = modifier_key(*modifier);
        held |= bit;
        events.push(event(DispatchKeyEventType::RawKeyDown, name, None, held));
    }
    let name = match chord.key() {
        "Space" => " ",
        "Plus" => "+",
        key => key,
    };
    let text = text_of(name, held);
    let down = if text.is_some() { DispatchKeyEventType::KeyDown } else { DispatchKeyEventType::RawKeyDown };
    events.push(event(down, name, text, held));
    events.push(event(DispatchKeyEventType::KeyUp, name, None, held));
    for modifier in modifiers.iter().rev() {
        let (name, bit) = modifier_key(*modifier);
        held &= !bit;
        events.push(event(DispatchKeyEventType::KeyUp, name, None, held));
    }
    events
}

/// Name and bit of a modifier, the bit as `Input.dispatchKeyEvent` defines it.
fn modifier_key(modifier: Modifier) -> (&'static str, i64) {
    match modifier {
        Modifier::Alt => ("Alt", 1),
        Modifier::Control => ("Control", 2),
        Modifier::Meta => ("Meta", 4),
        Modifier::Shift => ("Shift", 8),
    }
}

/// The text that a key types; none while a modifier other than Shift makes a command of it.
fn text_of(name: &str, held: i64) -> Option<String> {
    if held & !8 != 0 {
        return None;
    }
    match name {
        "Enter" => Some("\r".into()),
        _ if name.chars().count() == 1 && held & 8 != 0 => Some(name.to_uppercase()),
        _ if name.chars().count() == 1 => Some(name.to_owned()),
        _ => None,
    }
}

fn event(kind: DispatchKeyEventType, name: &str, text: Option<String>, held: i64) -> DispatchKeyEventParams {
    let mut event = DispatchKeyEventParams::new(kind);
    event.key = Some(text.clone().filter(|text| text != "\r").unwrap_or_else(|| name.to_owned()));
    // A character that no key of the layout has is typed without a key code.
    let lower = name.to_lowercase();
    let layout = USKEYBOARD_LAYOUT.iter();
    let same = |key: &str| key == name || (name.chars().count() == 1 && key == lower);
    if let Some(definition) = layout.clone().find(|definition| same(definition.key)) {
        event.code = Some(definition.code.to_owned());
        event.windows_virtual_key_code = Some(definition.key_code);
    }
    event.modifiers = Some(held);
    event.text = text;
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key, key code, text and modifiers.
    type Described = (String, Option<i64>, Option<String>, Option<i64>);

    fn described(chord: &str) -> Vec<Described> {
        let chord: KeyChord = chord.parse().unwrap();
        let tuple = |event: DispatchKeyEventParams| {
            (event.key.unwrap(), event.windows_virtual_key_code, event.text, event.modifiers)
        };
        events(&chord).into_iter().map(tuple).collect()
    }

    #[test]
    fn enter_types_a_carriage_return() {
        let events = described("Enter");
        assert_eq!(events[0], ("Enter".into(), Some(13), Some("\r".into()), Some(0)));
        assert_eq!(events.len(), 2);
    }

    #[test]
    fn a_command_types_nothing_and_releases_its_modifier() {
        let events = described("Control+a");
        assert_eq!(events[1], ("a".into(), Some(65), None, Some(2)));
        assert_eq!(events[3].3, Some(0));
        assert_eq!(described("Shift+a")[1].2.as_deref(), Some("A"));
        assert_eq!(described("ArrowDown")[0].1, Some(40));
        assert_eq!(described("é")[0].2.as_deref(), Some("é"));
    }
}
