//! Every operation with every principal, over each transport, against the permission table.

use std::fmt::Write as _;

use pinhole_testkit::Engine;

use crate::{
    callers::{Expect, callers},
    cases::{Place, cases},
    doors::Answer,
    ground::Ground,
};

#[tokio::test]
async fn the_permission_table_holds_for_every_operation_and_principal() {
    let ground = Ground::on(Engine::Sqlite).await;
    let callers = callers(&ground).await;
    let (mut combinations, mut wrong) = (0, String::new());
    for case in cases() {
        // Whoever is refused leaves the target as it was, so that one serves all of them.
        let unused = case.input(&ground, &callers[0]).await;
        for caller in &callers {
            let expected = case.expects(caller);
            for door in caller.doors(case.spec()) {
                // Somebody's roles follow into an environment that the case makes; nobody else's do.
                let own = expected == Expect::Allowed || case.place == Place::NewEnvironment;
                let input = if own { case.input(&ground, caller).await } else { unused.clone() };
                let answer = ground.through(*door, case.operation, &caller.credential, &input).await;
                combinations += 1;
                if !fits(expected, &answer) {
                    let (kind, body) = (caller.kind, &answer.body);
                    let _ = writeln!(
                        wrong,
                        "{} by {kind:?} at {door:?}: expected {expected:?}, got {} {body}",
                        case.operation, answer.status
                    );
                }
            }
        }
    }
    println!("{combinations} combinations of {} operations and {} principals", cases().len(), callers.len());
    assert!(wrong.is_empty(), "{wrong}");
}

fn fits(expected: Expect, answer: &Answer) -> bool {
    let said = match expected {
        Expect::Allowed => "ok",
        Expect::Unauthenticated => "unauthenticated",
        Expect::NotFound => "not_found",
        Expect::PermissionDenied => "permission_denied",
    };
    answer.said() == said
}
