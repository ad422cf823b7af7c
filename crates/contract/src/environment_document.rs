//! What one revision of an environment says. Members that say nothing are not written, so that a member added to the
//! document later does not change the digest of one that does not use it.

use pinhole_core::{ActionClass, ActionRule, HeaderName, HeaderValue, HostPattern, SecretName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded;

/// What one revision of an environment says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentDocument {
    /// Where relative URLs start: http or https, without user, password, query or fragment.
    #[serde(deserialize_with = "bounded::text::<1, 2000, _>")]
    #[schemars(length(min = 1, max = 2000))]
    pub base_url: String,
    /// Further hosts that scenarios may navigate to, at most 50: `host` for the ports 80 and 443, or `host:port`.
    #[serde(default, deserialize_with = "bounded::texts::<50, 255, _>")]
    #[schemars(length(max = 50), inner(length(min = 1, max = 255)))]
    pub allowed_hosts: Vec<String>,
    /// Headers that every request of a page carries, at most 20, each name once. None that holds a credential: those
    /// are secrets.
    #[serde(default, deserialize_with = "bounded::list::<0, 20, _, _>", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub headers: Vec<EnvironmentHeader>,
    /// What is done with each class of browser actions.
    #[serde(default, skip_serializing_if = "DecisionPolicy::says_nothing")]
    pub decision_policy: DecisionPolicy,
    /// The secrets that scenarios may name, at most 50, each name once. Their values are put separately.
    #[serde(default, deserialize_with = "bounded::list::<0, 50, _, _>", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub secrets: Vec<SecretDeclaration>,
    /// Where else runs may find the application, at most 20. Each holds once an administrator has approved it for this
    /// revision.
    #[serde(default, deserialize_with = "bounded::list::<0, 20, _, _>", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub host_patterns: Vec<HostPattern>,
    /// Whether a run that a service starts waits for a person. Not offered yet: only `false` is accepted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub protected: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl EnvironmentDocument {
    /// A document that says where the application is and nothing else.
    pub fn at(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            allowed_hosts: Vec::new(),
            headers: Vec::new(),
            decision_policy: DecisionPolicy::default(),
            secrets: Vec::new(),
            host_patterns: Vec::new(),
            protected: false,
        }
    }
}

/// A header that every request of a page carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentHeader {
    /// Its name.
    pub name: HeaderName,
    /// Its value.
    pub value: HeaderValue,
}

/// A secret that scenarios may name, and where alone it may be typed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretDeclaration {
    /// Its name.
    pub name: SecretName,
    /// The origins of the documents that it may be typed into, 1 to 10, such as `https://login.example`.
    #[serde(deserialize_with = "bounded::origins")]
    #[schemars(length(min = 1, max = 10), inner(length(min = 1, max = 255)))]
    pub origins: Vec<String>,
    /// A CSS selector of the one field that it is for.
    #[serde(
        default,
        deserialize_with = "bounded::optional_text::<1, 500, _>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(min = 1, max = 500))]
    pub field: Option<String>,
}

/// A rule for each class of browser actions; a class that is left out has its default: `deny` for `upload`, `download`
/// and `script`, `allow` for the others. `require_approval` is not offered yet and refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionPolicy {
    /// Opening addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub navigate: Option<ActionRule>,
    /// Clicking and typing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interact: Option<ActionRule>,
    /// Looking, waiting and taking pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<ActionRule>,
    /// Giving files to the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<ActionRule>,
    /// Taking files from the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub download: Option<ActionRule>,
    /// Running a script in the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ActionRule>,
    /// Asking a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<ActionRule>,
}

impl DecisionPolicy {
    /// Whether every class has its default unsaid.
    fn says_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// What the document says of a class, if anything.
    pub fn said(&self, class: ActionClass) -> Option<ActionRule> {
        match class {
            ActionClass::Navigate => self.navigate,
            ActionClass::Interact => self.interact,
            ActionClass::Read => self.read,
            ActionClass::Upload => self.upload,
            ActionClass::Download => self.download,
            ActionClass::Script => self.script,
            ActionClass::Human => self.human,
        }
    }

    /// What holds for a class.
    pub fn rule(&self, class: ActionClass) -> ActionRule {
        self.said(class).unwrap_or_else(|| class.default_rule())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_say_nothing_are_not_written() {
        let old = r#"{"base_url":"http://a/","allowed_hosts":[]}"#;
        let document: EnvironmentDocument = serde_json::from_str(old).unwrap();
        assert_eq!(document, EnvironmentDocument::at("http://a/"));
        assert_eq!(serde_json::to_string(&document).unwrap(), old);
    }

    #[test]
    fn a_policy_says_what_differs_from_the_defaults() {
        let policy: DecisionPolicy = serde_json::from_str(r#"{"interact":"deny"}"#).unwrap();
        assert_eq!(policy.rule(ActionClass::Interact), ActionRule::Deny);
        assert_eq!(policy.rule(ActionClass::Read), ActionRule::Allow);
        assert_eq!(policy.rule(ActionClass::Script), ActionRule::Deny);
        assert!(serde_json::from_str::<DecisionPolicy>(r#"{"click":"deny"}"#).is_err());
    }
}
