//! The words that settings of projects and environments are written in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form::text_enum;

text_enum! {
    /// What kind of thing a browser action does; an environment has a rule for each.
    ActionClass {
        /// Opening addresses.
        Navigate = "navigate",
        /// Clicking and typing.
        Interact = "interact",
        /// Looking, waiting and taking pictures.
        Read = "read",
        /// Giving files to the page.
        Upload = "upload",
        /// Taking files from the page.
        Download = "download",
        /// Running a script in the page.
        Script = "script",
        /// Asking a person.
        Human = "human",
    }
}

text_enum! {
    /// What an environment says to a class of actions.
    ActionRule {
        /// They are done.
        Allow = "allow",
        /// A person approves the run first.
        RequireApproval = "require_approval",
        /// A run with one of them is not admitted.
        Deny = "deny",
    }
}

impl ActionClass {
    /// What holds where an environment says nothing.
    pub const fn default_rule(self) -> ActionRule {
        match self {
            Self::Navigate | Self::Interact | Self::Read | Self::Human => ActionRule::Allow,
            Self::Upload | Self::Download | Self::Script => ActionRule::Deny,
        }
    }
}

text_enum! {
    /// Whether who decides must be another person than who requested or made.
    TwoPersons {
        /// As soon as the project has two approvers.
        Auto = "auto",
        /// Always.
        On = "on",
        /// Never.
        Off = "off",
    }
}

text_enum! {
    /// Whether something waits for an approval.
    Gate {
        /// It does.
        On = "on",
        /// It does not.
        Off = "off",
    }
}

text_enum! {
    /// What is tried out to know whether an installation works.
    ProbeKind {
        /// An object is written, read and deleted.
        Storage = "storage",
        /// A browser takes a picture of a built-in page.
        Capture = "capture",
        /// A publication came to an end.
        Publication = "publication",
        /// The transparency log is compared with what was signed before, and goes on.
        Log = "log",
    }
}
