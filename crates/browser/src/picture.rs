//! Takes one picture of a rectangle of the page, within limits inside which Chromium is known to paint all of it.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chromiumoxide::cdp::browser_protocol::page::{CaptureScreenshotFormat, CaptureScreenshotParams, Viewport};
use pinhole_core::FailureReason;

use crate::{
    error::{CallError, Fault},
    tab::{AskError, Tab},
};

/// Device pixels to a side: beyond it pictures were seen with blank ends and no error.
pub(crate) const MAX_SIDE: u32 = 16_384;
/// Device pixels in all.
pub(crate) const MAX_PIXELS: u64 = 64_000_000;

/// What Chromium says when one document has gone and the next is not shown yet.
const BETWEEN_DOCUMENTS: &str = "Not attached to an active page";

/// What is pictured, in CSS pixels of the document; the window where it stands when `clip` is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) clip: Option<[u32; 4]>,
    /// The size that the picture must have, in device pixels.
    pub(crate) size: [u32; 2],
}

impl Frame {
    /// The window.
    pub(crate) fn window(width: u32, height: u32, scale: f64) -> Result<Self, Fault> {
        Self::checked(None, width, height, scale)
    }

    /// A rectangle of the document: x, y, width, height.
    pub(crate) fn clip(rect: [u32; 4], scale: f64) -> Result<Self, Fault> {
        let [_, _, width, height] = rect;
        Self::checked(Some(rect), width, height, scale)
    }

    fn checked(clip: Option<[u32; 4]>, width: u32, height: u32, scale: f64) -> Result<Self, Fault> {
        let size = [device_pixels(width, scale), device_pixels(height, scale)];
        let [across, down] = size;
        let pixels = u64::from(across) * u64::from(down);
        if across > MAX_SIDE || down > MAX_SIDE || pixels > MAX_PIXELS {
            let message = format!(
                "the picture would be {across} x {down} device pixels; the limits are {MAX_SIDE} to a side and \
                 {MAX_PIXELS} in all: capture an element or the viewport, or lower the scale"
            );
            return Err(Fault::new(FailureReason::CaptureTooLarge, message));
        }
        Ok(Self { clip, size })
    }
}

/// CSS pixels as whole device pixels, rounded as Chromium rounds the size of its pictures.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and the cast saturates")]
fn device_pixels(css: u32, scale: f64) -> u32 {
    (f64::from(css) * scale).round() as u32
}

/// The picture as a PNG file, encoded the fast way: encoding is most of what a large picture costs. Between two documents
/// there is nothing to picture, which is [`AskError::Navigated`].
pub(crate) async fn take(tab: &Tab, frame: &Frame, limit: Duration) -> Result<Vec<u8>, AskError> {
    let mut shot = CaptureScreenshotParams::builder().format(CaptureScreenshotFormat::Png).optimize_for_speed(true);
    if let Some([x, y, width, height]) = frame.clip {
        let [x, y, width, height] = [x, y, width, height].map(f64::from);
        shot = shot.capture_beyond_viewport(true).clip(Viewport { x, y, width, height, scale: 1.0 });
    }
    let answer = match tab.call(shot.build(), limit).await {
        Err(CallError::Refused(why)) if why == BETWEEN_DOCUMENTS => return Err(AskError::Navigated),
        answer => answer.map_err(AskError::Call)?,
    };
    let no_base64 = |_| CallError::Refused("the browser sent a picture that is no base64".into());
    STANDARD.decode(String::from(answer.data)).map_err(no_base64).map_err(AskError::Call)
}

/// Width and height in the header of a PNG file (PNG specification, section 11.2.2).
pub(crate) fn png_size(png: &[u8]) -> Option<[u32; 2]> {
    let header = png.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")?;
    let number = |at: usize| header.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    Some([number(0)?, number(4)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_named() {
        assert_eq!(Frame::clip([0, 0, 1280, 16_384], 1.0).unwrap().size, [1280, 16_384]);
        for (width, height, scale) in [(1280, 16_385, 1.0), (8192, 8192, 1.0), (800, 9000, 2.0)] {
            let fault = Frame::clip([0, 0, width, height], scale).unwrap_err();
            assert_eq!(fault.reason, FailureReason::CaptureTooLarge);
        }
    }

    #[test]
    fn device_pixels_are_whole() {
        assert_eq!(device_pixels(391, 1.1), 430);
        assert_eq!(device_pixels(333, 1.5), 500);
        assert_eq!(device_pixels(1280, 2.0), 2560);
    }
}
