//! Publications end to end: a real application on each database, real repositories and servers, and the real child
//! process. Twenty things go wrong with publications, and each has its tests here:
//!
//! | | case | what becomes of it | tests |
//! |---|---|---|---|
//! | 1 | pushed, and the worker dies before it knows | found, published once | `killed_after_the_push` |
//! | 2 | the acknowledgement is lost | found, published once | `a_lost_acknowledgement_ends_in_the_truth` |
//! | 3 | the connection is lost before the push | the same commit again | `killed_before_the_push`, `a_connection_that_is_cut_…` |
//! | 4 | two workers, one publication | one has the lease; the commit is the same | `the_branch_holds_exactly_the_rendered_tree`, `a_publication_that_kills_its_workers_ends` |
//! | 5 | publications race | one is published, the others in conflict; in order when asked for | `of_two_that_race_…`, `a_publication_follows_another`, `crowd` |
//! | 6 | a person pushed other files | conflict until the new head is named; the files stay | `a_foreign_commit_is_a_conflict_…` |
//! | 7 | a person changed a file of ours | conflict, nothing overwritten unseen | `a_changed_file_of_ours_…`, `a_rewritten_publication_with_…` |
//! | 8 | our landed commit was forced away | conflict, nothing put back unasked; told of the one that is gone | `a_landed_commit_that_was_forced_away_…`, `missed` |
//! | 9 | history was rewritten, the content stays | found by its marker | `a_rewritten_history_…` |
//! | 10 | the branch was deleted | conflict, not made again unasked | `a_deleted_branch_…` |
//! | 11 | an empty repository | the first commit is made | `the_branch_holds_exactly_the_rendered_tree` |
//! | 12 | a protected branch, a rule | rejected in the server's words | `a_protected_branch_…`, `a_remote_that_refuses_…` |
//! | 13 | a hook refuses the content | rejected, asked once | `a_hook_that_refuses_the_content_…` |
//! | 14 | the commit key is missing, or another | nothing pushed; never published twice | `without_the_commit_key_…`, `a_new_commit_key_…` |
//! | 15 | the reference cannot be locked | tried again | `a_branch_that_the_server_cannot_lock_…` |
//! | 16 | the credential is refused, also amid a push | tried again, then failed; never shown | `a_credential_that_expires_…` |
//! | 17 | a broken clone | costs one try | `a_broken_scratch_repository_…` |
//! | 18 | the server shows an old head after the push | tried again, no second commit | `a_server_that_shows_an_old_head_…` |
//! | 19 | 5xx, 429, an early end, no answer | tried again, cut off in time | `what_a_server_cannot_do_now_…`, `a_connection_that_is_cut_…`, `stalls` |
//! | 20 | a full disk, a push too large, a path that clashes | costs one try; rejected; refused before the commit | `a_full_disk_…`, `a_push_that_the_server_finds_too_large_…`, and `paths_that_are_no_catalog_…` of `pinhole-gitcat` |

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its preparation fails")]

/// Makes a test for each database engine out of each function.
macro_rules! on_both_engines {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(pinhole_testkit::Engine::Sqlite).await })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(pinhole_testkit::Engine::Postgres).await })*
        }
    };
}

mod baselines;
mod chance;
mod changes;
mod conflicts;
mod crowd;
mod failures;
mod keys;
mod kill_loop;
mod kills;
mod local;
mod log;
mod missed;
mod published;
mod refusals;
mod remote;
mod served;
mod stalls;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;
mod tampering;
mod world;
