//! Asks a question of the tree with the tiles that it needs from the database.

use pinhole_core::{Error, Result};
use pinhole_receipt::log::{NeededTiles, Tiles};
use pinhole_store::Tx;

/// How often a question is asked at most: the first answer names all tiles, and the second is there for growth.
const MAX_ROUNDS: u32 = 8;

/// Asks until the answer is there. `tiles` has those of earlier questions within the same transaction.
pub(super) async fn ask<T: Send>(
    tx: &mut Tx,
    tiles: &mut Tiles,
    question: impl Fn(&Tiles) -> Result<NeededTiles<T>> + Send,
) -> Result<T> {
    for _ in 0..MAX_ROUNDS {
        match question(tiles)? {
            NeededTiles::None(answer) => return Ok(answer),
            NeededTiles::Some(needed) => {
                for id in needed {
                    let found = tx.log_tile(id.level, id.number).await?;
                    let missing = || Error::internal(format!("tile {}/{} of the log is missing", id.level, id.number));
                    tiles.insert(id, found.ok_or_else(missing)?);
                }
            }
        }
    }
    Err(Error::internal("the tree of the log asks for ever more tiles"))
}
