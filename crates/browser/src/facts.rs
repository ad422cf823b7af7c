//! What is known of a started browser: its build, the flags that change pixels, the fonts, and whether its sandbox
//! is on, as read from the kernel and not from its own word.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use pinhole_core::{Profile, RenderFacts, SandboxFacts, Sha256Digest};

use crate::error::BrowserError;

/// Version of the settling and freezing rules; a change makes pictures incomparable with earlier ones.
const STABILISER: u32 = 1;

/// What a started browser is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserFacts {
    /// Product and version as the browser says it, such as `HeadlessChrome/156.0.8078.73`.
    pub product: String,
    /// The build's revision as the browser says it.
    pub revision: String,
    /// Command-line flags that change pixels, sorted.
    pub flags: Vec<String>,
    /// Digest over the installed font files' paths and sizes.
    pub fonts: Sha256Digest,
    /// The uid that the browser runs under.
    pub uid: u32,
    /// Whether its renderer has a seccomp filter and a user namespace of its own.
    pub sandboxed: bool,
}

impl BrowserFacts {
    /// How the browser is contained, for the submission.
    pub fn sandbox(&self) -> SandboxFacts {
        SandboxFacts { uid: self.uid, sandboxed: self.sandboxed }
    }

    /// Everything that a picture's look depends on beside the page, for a page shown `profile`.
    pub fn render(&self, profile: &Profile) -> RenderFacts {
        RenderFacts {
            browser: self.product.clone(),
            browser_revision: self.revision.clone(),
            flags: self.flags.clone(),
            fonts: self.fonts,
            profile: profile.clone(),
            stabiliser: STABILISER,
            architecture: std::env::consts::ARCH.to_owned(),
        }
    }
}

/// Flags that change pixels. Every one is part of the render facts, so that a change asks for new baselines.
pub(crate) const PIXEL_FLAGS: &[&str] = &[
    // Animated pictures stay on their first frame.
    "--blink-settings=imageAnimationPolicy=2",
    // Software layers can keep stale pixels of transformed elements.
    "--disable-gpu-compositing",
    "--disable-lcd-text",
    // A tile that is repainted in part keeps edge pixels of what was there before, so that one page had two looks.
    "--disable-partial-raster",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
];

/// Flags that keep the browser quiet and its pages awake; they change no pixel.
pub(crate) const QUIET_FLAGS: &[&str] = &[
    "--disable-back-forward-cache",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-features=HttpsUpgrades,MediaRouter,OptimizationHints,PaintHolding,Translate",
    "--disable-field-trial-config",
    "--disable-gpu",
    "--disable-quic",
    "--disable-renderer-backgrounding",
    "--disable-sync",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--password-store=basic",
    // Without it a page learns local addresses and sends UDP past every proxy.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
];

/// Where fontconfig looks by default; the browser's home directory is empty.
const FONT_FOLDERS: [&str; 2] = ["/usr/local/share/fonts", "/usr/share/fonts"];

/// Digest over the paths and sizes of all font files.
pub(crate) fn fonts_digest() -> Sha256Digest {
    let mut files = BTreeMap::new();
    for folder in FONT_FOLDERS {
        collect_files(Path::new(folder), 8, &mut files);
    }
    let mut text = String::new();
    for (path, size) in &files {
        text.push_str(&format!("{}\0{size}\n", path.display()));
    }
    Sha256Digest::of(text.as_bytes())
}

fn collect_files(folder: &Path, depth: u32, files: &mut BTreeMap<PathBuf, u64>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        match fs::metadata(&path) {
            Ok(data) if data.is_dir() && depth > 0 => collect_files(&path, depth - 1, files),
            Ok(data) if data.is_file() => {
                files.insert(path, data.len());
            }
            _ => {}
        }
    }
}

/// Waits until a renderer below `browser` shows its sandbox; blocks for at most five seconds.
pub(crate) fn check_sandbox(browser: u32) -> Result<(), BrowserError> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let problem = match renderer_problem(browser) {
            Ok(None) => return Ok(()),
            Ok(Some(problem)) => problem,
            Err(error) => return Err(BrowserError::Io("read /proc", error)),
        };
        if Instant::now() >= deadline {
            return Err(BrowserError::NoSandbox(problem));
        }
        // The renderer puts its filter on a moment after it starts.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What is missing at the renderers below `browser`, or nothing.
fn renderer_problem(browser: u32) -> io::Result<Option<String>> {
    let renderers = renderers_below(browser)?;
    if renderers.is_empty() {
        return Ok(Some("no renderer process was found".into()));
    }
    let ours = fs::read_link("/proc/self/ns/user")?;
    for pid in renderers {
        let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { continue };
        if field(&status, "Seccomp:") != Some("2") {
            return Ok(Some(format!("renderer {pid} has no seccomp filter")));
        }
        let namespace = fs::read_link(format!("/proc/{pid}/ns/user"));
        // A kernel that hides the link still shows a second process id in a namespace of the renderer's own.
        let nested = status.lines().any(|line| line.starts_with("NSpid:") && line.split_whitespace().count() > 2);
        if !namespace.map_or(nested, |namespace| namespace != ours) {
            return Ok(Some(format!("renderer {pid} has no user namespace of its own")));
        }
    }
    Ok(None)
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// Process ids of the renderers among the descendants of `browser`.
fn renderers_below(browser: u32) -> io::Result<Vec<u32>> {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if let Some(parent) = field(&status, "PPid:").and_then(|text| text.parse::<u32>().ok()) {
            parents.insert(pid, parent);
        }
    }
    let below = |mut pid: u32| {
        for _ in 0..16 {
            match parents.get(&pid) {
                Some(parent) if *parent == browser => return true,
                Some(parent) => pid = *parent,
                None => return false,
            }
        }
        false
    };
    let is_renderer = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // A renderer writes its whole title into one string, so that arguments end with a space there.
        line.split(|byte| *byte == 0 || *byte == b' ').any(|argument| argument == b"--type=renderer")
    };
    Ok(parents.keys().copied().filter(|pid| below(*pid)).filter(is_renderer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixel_flags_are_sorted_and_no_flag_is_given_twice() {
        assert!(PIXEL_FLAGS.is_sorted());
        let mut names: Vec<_> =
            PIXEL_FLAGS.iter().chain(QUIET_FLAGS).map(|flag| flag.split('=').next().unwrap()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
