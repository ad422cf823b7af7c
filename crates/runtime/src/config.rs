//! The configuration: one TOML file, then environment variables, then the command line. Every mistake is told at once.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Read as _,
    net::SocketAddr,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use pinhole_core::{Error, Name, Result};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::RemoteConfig;

/// Greatest size of the configuration file in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Debian's headless build, which starts in a tenth of a second.
const HEADLESS_SHELL: &str = "/usr/lib/chromium/chromium-headless-shell";

/// The whole configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where the database, the objects and the keys are on embedded defaults.
    pub data_dir: PathBuf,
    /// Another database than the data directory's own; may hold a password.
    pub database_url: Option<String>,
    /// Where `serve` listens.
    pub listen: SocketAddr,
    /// How people and programs reach it.
    pub public_url: Option<Url>,
    /// Whether a proxy in front of `serve` appends the address of each caller to `X-Forwarded-For`. Limits that count by
    /// address take its word for it; without it, everybody behind a proxy is one address.
    pub behind_proxy: bool,
    /// A provider of identities that people sign in at, beside name and password.
    pub oidc: Option<OidcConfig>,
    /// How often one may call.
    pub limits: LimitSettings,
    /// The capture workers.
    pub capture: CaptureSettings,
    /// The browser.
    pub browser: BrowserSettings,
    /// The file of master keys that seal secrets; `keys/master.key` in the data directory when left out. Keys in the
    /// environment variable `PINHOLE_MASTER_KEY` stand above any file.
    pub master_key_file: Option<PathBuf>,
    /// Git remotes; `file:` URLs and plain paths are accepted only here.
    pub remotes: Vec<RemoteConfig>,
}

/// The capture workers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CaptureSettings {
    /// Worker processes that `serve` starts, 0 to 16.
    pub processes: u32,
    /// Browsers in each, 1 to 16.
    pub lanes: u32,
}

/// The browser.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BrowserSettings {
    /// The headless Chromium program.
    pub executable: PathBuf,
    /// The uid that it runs under when Pinhole runs as root.
    pub uid: u32,
    /// Lets it run where its own sandbox cannot; every receipt says so.
    pub allow_no_sandbox: bool,
}

/// A provider of identities (OpenID Connect).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcConfig {
    /// Its issuer, exactly as its identity tokens name it; also where discovery begins.
    pub issuer: String,
    /// Our id there. The provider sends people back to `/api/v1/session/oidc/callback` below the public URL.
    pub client_id: String,
    /// A file with our secret there; a public client has none.
    pub client_secret_file: Option<PathBuf>,
    /// Scopes beside `openid`.
    #[serde(default = "profile")]
    pub scopes: Vec<String>,
    /// The claim that lists a person's groups, in the identity token or from the userinfo endpoint.
    pub group_claim: Option<String>,
    /// Values of that claim, and the groups whose membership follows them at each sign-in.
    #[serde(default)]
    pub groups: BTreeMap<String, Name>,
    /// Whether somebody unknown becomes a new user, without any grant.
    #[serde(default)]
    pub create_users: bool,
}

fn profile() -> Vec<String> {
    vec!["profile".into()]
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data_dir: "pinhole-data".into(),
            database_url: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 8087)),
            public_url: None,
            behind_proxy: false,
            oidc: None,
            limits: LimitSettings::default(),
            capture: CaptureSettings::default(),
            browser: BrowserSettings::default(),
            master_key_file: None,
            remotes: Vec::new(),
        }
    }
}

/// How often one may call. What comes faster is told to wait.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Attempts to sign in per minute from one address.
    pub sign_ins_per_minute: NonZeroU32,
    /// Calls per second of one principal.
    pub calls_per_second: NonZeroU32,
    /// How many calls of one principal may come at once.
    pub calls_at_once: NonZeroU32,
    /// Refused calls without a valid credential per second from one address.
    pub stranger_calls_per_second: NonZeroU32,
    /// How many of them may come at once.
    pub stranger_calls_at_once: NonZeroU32,
}

impl Default for LimitSettings {
    fn default() -> Self {
        let number = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self {
            sign_ins_per_minute: number(10),
            calls_per_second: number(50),
            calls_at_once: number(200),
            stranger_calls_per_second: number(20),
            stranger_calls_at_once: number(100),
        }
    }
}

impl Default for CaptureSettings {
    fn default() -> Self {
        Self { processes: 1, lanes: 1 }
    }
}

impl Default for BrowserSettings {
    fn default() -> Self {
        Self { executable: HEADLESS_SHELL.into(), uid: 61_990, allow_no_sandbox: false }
    }
}

impl Config {
    /// Reads the file, if one is named, and the environment variables `PINHOLE_DATA_DIR`, `PINHOLE_DATABASE_URL` and
    /// `PINHOLE_LISTEN`.
    ///
    /// # Errors
    /// `invalid_arguments` that names the file or variable and what is wrong with it.
    pub fn load(file: Option<&Path>) -> Result<Self> {
        let mut config = match file {
            None => Self::default(),
            Some(path) => Self::read(path)?,
        };
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        if let Some(directory) = variable("PINHOLE_DATA_DIR") {
            config.data_dir = directory.into();
        }
        if let Some(url) = variable("PINHOLE_DATABASE_URL") {
            config.database_url = Some(url);
        }
        if let Some(address) = variable("PINHOLE_LISTEN") {
            config.listen = address
                .parse()
                .map_err(|_| Error::invalid("PINHOLE_LISTEN", "expected ADDRESS:PORT such as 127.0.0.1:8087"))?;
        }
        Ok(config)
    }

    fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let unreadable = |e: std::io::Error| Error::invalid(&name, format!("cannot be read: {e}"));
        // Counted while it is read: a device or a pipe says nothing of its size.
        let mut text = String::new();
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)).map_err(unreadable)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(Error::too_large(name, MAX_BYTES));
        }
        toml::from_str(&text).map_err(|e| Error::invalid(&name, e.to_string().trim().to_owned()))
    }

    /// Where people reach it: the public URL, or else the address that it listens on.
    ///
    /// # Errors
    /// `internal` for an address that is no URL, which none is.
    pub fn base_url(&self) -> Result<Url> {
        match &self.public_url {
            Some(url) => Ok(url.clone()),
            None => Url::parse(&format!("http://{}/", self.listen)).map_err(Error::internal),
        }
    }

    /// Checks what the types cannot say, and tells every mistake.
    ///
    /// # Errors
    /// `invalid_arguments` with all of them.
    pub fn check(&self) -> Result<()> {
        let mut mistakes = Vec::new();
        if !self.listen.ip().is_loopback() {
            mistakes.push(format!(
                "listen: {} is not a loopback address, and the server speaks plain HTTP: listen on 127.0.0.1 and put a TLS \
                 proxy in front of it",
                self.listen
            ));
        }
        if self.capture.processes > 16 || !(1..=16).contains(&self.capture.lanes) {
            mistakes.push("capture: expected 0 to 16 processes and 1 to 16 lanes".into());
        }
        if let Some(oidc) = &self.oidc {
            let local = |url: &Url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
            if !Url::parse(&oidc.issuer).is_ok_and(|url| url.scheme() == "https" || local(&url)) {
                mistakes.push("oidc.issuer: expected https://".into());
            }
            if !oidc.groups.is_empty() && oidc.group_claim.is_none() {
                mistakes.push("oidc.groups: needs group_claim".into());
            }
        }
        mistakes.extend(self.remotes.iter().filter_map(|remote| remote.check().err()));
        if let Some(url) = &self.database_url
            && !["sqlite:", "postgres:", "postgresql:"].iter().any(|scheme| url.starts_with(scheme))
        {
            mistakes.push("database_url: expected sqlite:PATH or postgres://…".into());
        }
        if mistakes.is_empty() { Ok(()) } else { Err(Error::invalid("configuration", mistakes.join("; "))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_told() {
        let config: Config = toml::from_str(
            "listen = '0.0.0.0:80'\n[oidc]\nissuer = 'http://id.example'\nclient_id = 'x'\n[oidc.groups]\na = 'b'\n[capture]\nlanes = 0\n[[remotes]]\nslug = 'x'\nurl = '/x'\nbranches = []",
        )
        .unwrap();
        let error = config.check().unwrap_err();
        for part in ["loopback", "lanes", "branch", "https", "group_claim"] {
            assert!(error.message().contains(part), "{error}");
        }
        assert!(Config::default().check().is_ok());
    }

    #[test]
    fn the_documentation_names_every_setting() {
        let document = include_str!("../../../docs/configuration.md");
        let example = document.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let config: Config = toml::from_str(example).unwrap();
        // What the example's remotes keep in files is not on this machine.
        Config { remotes: Vec::new(), ..config }.check().unwrap();
        for section in ["", "[limits]", "[capture]", "[browser]", "[oidc]", "[[remotes]]"] {
            let refused = toml::from_str::<Config>(&format!("{section}\ncolour = 1")).unwrap_err();
            // "unknown field `colour`, expected one of `data_dir`, …": every other piece is a name.
            for known in refused.message().split('`').skip(1).step_by(2).skip(1) {
                let is_said = |line: &str| {
                    line.starts_with(&format!("{known} =")) || line.trim_matches(['[', ']']).starts_with(known)
                };
                assert!(example.lines().any(is_said), "{section} {known}");
            }
        }
    }

    #[test]
    fn unknown_settings_are_refused() {
        assert!(toml::from_str::<Config>("colour = 'red'").is_err());
    }
}
