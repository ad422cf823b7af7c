//! Groups of principals. Roles of a group are its members' for as long as they are members.

use std::collections::BTreeSet;

use pinhole_contract::{CreateGroup, GetGroup, GroupList, GroupSummary, GroupView, ListGroups, PutGroupMembers};
use pinhole_core::{Actor, Error, GroupId, Name, PrincipalId, Result};
use pinhole_store::Group;
use serde_json::json;

use crate::{
    App,
    idempotency::{Keyed, expect_version},
    page,
    unit::Unit,
};

pub(crate) async fn create(app: &App, actor: &Actor, command: CreateGroup) -> Result<GroupView> {
    let command = &command;
    app.write(actor, "create_group", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    return Ok(GroupView { replayed: true, ..group_view(unit, id.parse()?).await? });
                }
            };
            let group = insert(unit, &command.name).await?;
            unit.remember(call, group.id).await?;
            group_view(unit, group.id).await
        })
    })
    .await
}

/// Adds a group with its audit row; `conflict` when the name is taken.
pub(crate) async fn insert(unit: &mut Unit, name: &Name) -> Result<Group> {
    let group = Group { id: GroupId::from_uuid(unit.uuid()), name: name.clone(), version: 1, created_at: unit.now() };
    unit.insert_group(&group).await?;
    unit.audit(None, Some(group.id.to_string()), json!({ "name": group.name })).await?;
    Ok(group)
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListGroups) -> Result<GroupList> {
    let after = page::position::<GroupId>(command.cursor.as_ref())?;
    app.read(actor, "list_groups", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let after = match after {
                Some(id) => Some(unit.group(id).await?.ok_or_else(page::bad_cursor)?.name),
                None => None,
            };
            let mut found = unit.list_groups(after.as_ref(), page::to_load(command.limit)).await?;
            let next_cursor = page::cut(&mut found, command.limit, |last| last.id);
            let summary = |Group { id, name, version, created_at }| GroupSummary { id, name, version, created_at };
            Ok(GroupList { groups: found.into_iter().map(summary).collect(), next_cursor })
        })
    })
    .await
}

pub(crate) async fn get(app: &App, actor: &Actor, command: GetGroup) -> Result<GroupView> {
    app.read(actor, "get_group", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            group_view(unit, command.group_id).await
        })
    })
    .await
}

pub(crate) async fn put_members(app: &App, actor: &Actor, command: PutGroupMembers) -> Result<GroupView> {
    let wanted = &members(&command.members)?;
    let command = &command;
    app.write(actor, "put_group_members", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let group = unit.group(command.group_id).await?.ok_or_else(Error::not_found)?;
            expect_version(command.expected_version, group.version)?;
            let present: BTreeSet<_> = unit.group_members(group.id).await?.into_iter().collect();
            let added: Vec<_> = wanted.difference(&present).collect();
            for (index, member) in command.members.iter().enumerate() {
                if !present.contains(member) && unit.principal(*member).await?.is_none() {
                    return Err(Error::invalid(format!("members[{index}]"), "there is no such principal"));
                }
            }
            unit.put_group_members(group.id, &command.members).await?;
            let removed: Vec<_> = present.difference(wanted).collect();
            let detail = json!({ "version": group.version + 1, "added": added, "removed": removed });
            unit.audit(None, Some(group.id.to_string()), detail).await?;
            group_view(unit, group.id).await
        })
    })
    .await
}

/// The members of a call, each of whom is named once.
fn members(members: &[PrincipalId]) -> Result<BTreeSet<PrincipalId>> {
    let mut seen = BTreeSet::new();
    match members.iter().position(|member| !seen.insert(*member)) {
        Some(index) => Err(Error::invalid(format!("members[{index}]"), "expected different members")),
        None => Ok(seen),
    }
}

async fn group_view(unit: &mut Unit, id: GroupId) -> Result<GroupView> {
    let Group { id, name, version, created_at } = unit.group(id).await?.ok_or_else(Error::not_found)?;
    Ok(GroupView { id, name, version, created_at, members: unit.group_members(id).await?, replayed: false })
}
