//! Programs of others in Python, with packages that are pinned in the folders of this crate.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use super::command::binary;

/// `script` of a folder of this crate, to be run by a Python that has the folder's packages.
pub(crate) fn python(folder: &str, script: &str) -> Command {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", installed(folder, &source)).arg(source.join(script));
    command
}

/// Where the folder's packages are. Several test processes may come here at once: each installs beside the place and
/// moves it there; the first one wins.
fn installed(folder: &str, source: &Path) -> PathBuf {
    let target = binary().parent().and_then(Path::parent).unwrap().to_owned();
    let pins = source.join("requirements.txt");
    let (place, stamp) = (target.join(folder), "requirements.installed");
    let wanted = fs::read(&pins).unwrap();
    if fs::read(place.join(stamp)).is_ok_and(|installed| installed == wanted) {
        return place;
    }
    let fresh = TempDir::with_prefix_in(format!("{folder}-"), &target).unwrap();
    let environment = fresh.path().join("venv");
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let packages = fresh.path().join("packages");
    let mut pip = Command::new(environment.join("bin/pip"));
    // Into a folder of their own: an environment does not work any more after it was moved.
    run(pip.args(["install", "--quiet", "--target"]).arg(&packages).arg("-r").arg(&pins));
    fs::write(packages.join(stamp), &wanted).unwrap();
    if fs::rename(&packages, &place).is_err() && !fs::read(place.join(stamp)).is_ok_and(|found| found == wanted) {
        // What is there has other pins.
        fs::remove_dir_all(&place).unwrap();
        fs::rename(&packages, &place).unwrap();
    }
    place
}

fn run(command: &mut Command) {
    let output = command.output().expect("Python 3 with venv is installed");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
