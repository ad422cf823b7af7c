//! `pinhole contract`: OpenAPI, JSON Schemas and the tool catalog of this version as files.

use std::{fs, path::PathBuf};

use clap::Args;
use pinhole_core::{Error, Result};
use pinhole_server::ContractFile;

use crate::exit::Exit;

/// Write OpenAPI, JSON Schemas and the tool catalog of this version as files.
#[derive(Args)]
pub(crate) struct Contract {
    /// The directory to write into; made when it is missing. What else is there stays.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Contract {
    pub(crate) fn run(&self) -> Result<Exit> {
        let scenario = ContractFile::json("scenario.schema.json", pinhole_scenario::json_schema());
        for file in pinhole_server::contract_files().into_iter().chain([scenario]) {
            let path = self.out.join(&file.path);
            let cannot = |error| Error::invalid("--out", format!("cannot write {}", path.display())).with_source(error);
            if let Some(directory) = path.parent() {
                fs::create_dir_all(directory).map_err(cannot)?;
            }
            fs::write(&path, &file.bytes).map_err(cannot)?;
        }
        Ok(Exit::Success)
    }
}
