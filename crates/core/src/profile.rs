//! The capture profile: what a page is shown. Captures compare only inside one profile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, form::text_enum};

/// Size of the window in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Viewport {
    /// 1 to 10000.
    #[schemars(range(min = 1, max = 10000))]
    pub width: u32,
    /// 1 to 10000.
    #[schemars(range(min = 1, max = 10000))]
    pub height: u32,
}

text_enum! {
    /// `prefers-color-scheme`.
    ColorScheme {
        /// Light.
        Light = "light",
        /// Dark.
        Dark = "dark",
    }
}

/// Everything about the device that a page can see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Window size.
    pub viewport: Viewport,
    /// Device pixels to a CSS pixel, 0.5 to 4.
    #[schemars(range(min = 0.5, max = 4.0))]
    pub scale: f64,
    /// Colour scheme.
    pub color_scheme: ColorScheme,
    /// BCP 47 language tag.
    #[schemars(length(min = 2, max = 35))]
    pub locale: String,
    /// IANA time zone.
    #[schemars(length(min = 1, max = 64))]
    pub timezone: String,
    /// Whether the device has a touch screen.
    pub touch: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            viewport: Viewport { width: 1280, height: 800 },
            scale: 1.0,
            color_scheme: ColorScheme::Light,
            locale: "en-US".into(),
            timezone: "UTC".into(),
            touch: false,
        }
    }
}

/// A partial profile: what a scenario or a matrix row says differently.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileOverride {
    /// Window size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewport: Option<Viewport>,
    /// Device pixels to a CSS pixel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.5, max = 4.0))]
    pub scale: Option<f64>,
    /// Colour scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color_scheme: Option<ColorScheme>,
    /// BCP 47 language tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 35))]
    pub locale: Option<String>,
    /// IANA time zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub timezone: Option<String>,
    /// Whether the device has a touch screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touch: Option<bool>,
}

impl Profile {
    /// This profile with what `over` says differently.
    #[must_use]
    pub fn with(mut self, over: &ProfileOverride) -> Self {
        if let Some(viewport) = over.viewport {
            self.viewport = viewport;
        }
        if let Some(scale) = over.scale {
            self.scale = scale;
        }
        if let Some(scheme) = over.color_scheme {
            self.color_scheme = scheme;
        }
        if let Some(locale) = &over.locale {
            self.locale.clone_from(locale);
        }
        if let Some(timezone) = &over.timezone {
            self.timezone.clone_from(timezone);
        }
        if let Some(touch) = over.touch {
            self.touch = touch;
        }
        self
    }

    /// Checks every bound; the error names the member.
    pub fn check(&self) -> Result<()> {
        let Viewport { width, height } = self.viewport;
        for (field, value) in [("viewport.width", width), ("viewport.height", height)] {
            if !(1..=10_000).contains(&value) {
                return Err(Error::invalid(field, "expected 1 to 10000"));
            }
        }
        if !(0.5..=4.0).contains(&self.scale) {
            return Err(Error::invalid("scale", "expected 0.5 to 4"));
        }
        let tag = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if !(2..=35).contains(&self.locale.len()) || !self.locale.chars().all(tag) {
            return Err(Error::invalid("locale", "expected a BCP 47 language tag such as en-GB"));
        }
        let zone = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+');
        if !(1..=64).contains(&self.timezone.len()) || !self.timezone.chars().all(zone) {
            return Err(Error::invalid("timezone", "expected an IANA time zone such as Europe/London"));
        }
        Ok(())
    }
}
