//! Roles in projects: given, taken and listed by an owner of the project, or by an administrator, who needs no role in
//! it and gets none by this.

use std::{collections::BTreeMap, str::FromStr};

use pinhole_contract::{GrantList, GrantRole, GrantView, ListGrants, RevokeRole};
use pinhole_core::{Actor, EnvironmentId, Error, Name, Permission, ProjectId, Result, Role, Slug, Subject};
use pinhole_store::{Grant, Project};
use serde_json::json;

use crate::{App, page, unit::Unit};

pub(crate) async fn grant(app: &App, actor: &Actor, command: GrantRole) -> Result<GrantView> {
    let command = &command;
    app.write(actor, "grant_role", move |unit, _| {
        Box::pin(async move {
            let GrantRole { project, subject, environment, role } = command;
            let project = unit.administered_project(project, Permission::GrantWrite).await?;
            let environment_id = environment_id(unit, &project, environment.as_ref()).await?;
            let name = subject_name(unit, *subject).await?.ok_or_else(no_subject)?;
            give(unit, &Grant { subject: *subject, project_id: project.id, environment_id, role: *role }).await?;
            let (project, environment) = (project.slug, environment.clone());
            Ok(GrantView { project, subject: *subject, name, environment, role: *role })
        })
    })
    .await
}

pub(crate) async fn revoke(app: &App, actor: &Actor, command: RevokeRole) -> Result<GrantView> {
    let command = &command;
    app.write(actor, "revoke_role", move |unit, _| {
        Box::pin(async move {
            let RevokeRole { project, subject, environment, role } = command;
            let project = unit.administered_project(project, Permission::GrantWrite).await?;
            let environment_id = environment_id(unit, &project, environment.as_ref()).await?;
            let name = subject_name(unit, *subject).await?.ok_or_else(no_subject)?;
            let grant = Grant { subject: *subject, project_id: project.id, environment_id, role: *role };
            if !take(unit, &grant).await? {
                unit.unaudited();
            }
            let (project, environment) = (project.slug, environment.clone());
            Ok(GrantView { project, subject: *subject, name, environment, role: *role })
        })
    })
    .await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListGrants) -> Result<GrantList> {
    let after = page::position::<Position>(command.cursor.as_ref())?;
    let (command, after) = (&command, &after);
    app.read(actor, "list_grants", move |unit, _| {
        Box::pin(async move {
            let project = unit.administered_project(&command.project, Permission::GrantWrite).await?;
            let after = after.as_ref().map(|position| position.grant(project.id));
            let mut found = unit.list_grants(project.id, after.as_ref(), page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, Position::of);
            let mut known = Known::default();
            let mut grants = Vec::with_capacity(found.len());
            for grant in found {
                grants.push(known.view(unit, &project, grant).await?);
            }
            Ok(GrantList { grants, next_cursor })
        })
    })
    .await
}

/// Adds a grant with its audit row.
pub(crate) async fn give(unit: &mut Unit, grant: &Grant) -> Result<()> {
    unit.insert_grant(grant).await?;
    audit(unit, grant).await
}

/// Removes a grant with its audit row; false when there was none.
///
/// # Errors
/// `conflict` with reason `last_owner` when nobody who is not disabled would own the project any more.
pub(crate) async fn take(unit: &mut Unit, grant: &Grant) -> Result<bool> {
    if !unit.delete_grant(grant).await? {
        return Ok(false);
    }
    let owned = grant.role == Role::Owner && grant.environment_id.is_none();
    if owned && !unit.has_owner(grant.project_id).await? {
        return Err(Error::conflict("last_owner", "the project would have no owner: make somebody else one first"));
    }
    audit(unit, grant).await?;
    Ok(true)
}

async fn audit(unit: &mut Unit, grant: &Grant) -> Result<()> {
    let detail = json!({ "subject": grant.subject, "role": grant.role, "environment": grant.environment_id });
    unit.audit(Some(grant.project_id), Some(grant.project_id.to_string()), detail).await
}

async fn environment_id(unit: &mut Unit, project: &Project, slug: Option<&Slug>) -> Result<Option<EnvironmentId>> {
    let Some(slug) = slug else { return Ok(None) };
    let absent = || Error::not_found().with_message(format!("the project has no environment {slug}"));
    let found = unit.environment_by_slug(project.id, slug).await?.ok_or_else(absent)?;
    Ok(Some(found.id))
}

async fn subject_name(unit: &mut Unit, subject: Subject) -> Result<Option<Name>> {
    Ok(match subject {
        Subject::Principal(id) => unit.principal(id).await?.map(|found| found.name),
        Subject::Group(id) => unit.group(id).await?.map(|found| found.name),
    })
}

fn no_subject() -> Error {
    Error::not_found().with_message("there is no principal or group with this id")
}

/// Names and slugs that a page has met already.
#[derive(Default)]
struct Known {
    names: BTreeMap<Subject, Name>,
    environments: BTreeMap<EnvironmentId, Slug>,
}

impl Known {
    async fn view(&mut self, unit: &mut Unit, project: &Project, grant: Grant) -> Result<GrantView> {
        let Grant { subject, environment_id, role, project_id: _ } = grant;
        let name = match self.names.get(&subject) {
            Some(name) => name.clone(),
            None => subject_name(unit, subject).await?.ok_or_else(|| Error::internal("a role of nobody"))?,
        };
        self.names.insert(subject, name.clone());
        let environment = match environment_id {
            Some(id) => Some(self.environment(unit, id).await?),
            None => None,
        };
        Ok(GrantView { project: project.slug.clone(), subject, name, environment, role })
    }

    async fn environment(&mut self, unit: &mut Unit, id: EnvironmentId) -> Result<Slug> {
        if let Some(slug) = self.environments.get(&id) {
            return Ok(slug.clone());
        }
        let found = unit.environment(id).await?.ok_or_else(|| Error::internal("a role in no environment"))?;
        self.environments.insert(id, found.slug.clone());
        Ok(found.slug)
    }
}

/// Where a page of roles ends: everything of its last one but the project.
struct Position {
    subject: Subject,
    environment_id: Option<EnvironmentId>,
    role: Role,
}

impl Position {
    fn of(grant: &Grant) -> String {
        let environment = grant.environment_id.map(|id| id.to_string()).unwrap_or_default();
        format!("{}/{environment}/{}", grant.subject, grant.role)
    }

    fn grant(&self, project_id: ProjectId) -> Grant {
        Grant { subject: self.subject, project_id, environment_id: self.environment_id, role: self.role }
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.splitn(3, '/');
        let mut next = || parts.next().ok_or_else(page::bad_cursor);
        let (subject, environment, role) = (next()?, next()?, next()?);
        let environment_id = if environment.is_empty() { None } else { Some(environment.parse()?) };
        Ok(Self { subject: subject.parse()?, environment_id, role: role.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use pinhole_core::{EnvironmentId, GroupId};
    use proptest::{option, prelude::*, sample::select};
    use uuid::Uuid;

    use super::*;

    proptest! {
        #[test]
        fn a_place_is_read_as_it_was_written(
            subject in any::<u128>(), environment in option::of(any::<u128>()), role in select(Role::ALL)
        ) {
            let grant = Grant {
                subject: Subject::Group(GroupId::from_uuid(Uuid::from_u128(subject))),
                project_id: ProjectId::from_uuid(Uuid::nil()),
                environment_id: environment.map(|number| EnvironmentId::from_uuid(Uuid::from_u128(number))),
                role,
            };
            let place: Position = Position::of(&grant).parse().unwrap();
            prop_assert_eq!(Position::of(&place.grant(grant.project_id)), Position::of(&grant));
        }

        #[test]
        fn no_place_is_too_odd(text in "(prn_[0-9a-f]{32})?/?(env_[0-9a-f]{32})?/[a-z]{0,8}|.{0,60}") {
            let _refused = text.parse::<Position>();
        }
    }
}
