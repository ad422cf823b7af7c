//! The public keys that statements are signed with. A process knows the one that signs today; the key set document that
//! the server publishes has the others, and those of commits.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use pinhole_contract::{ListSigningKeys, SigningKeyList, SigningKeyView};
use pinhole_core::{Actor, Result};

use crate::App;

pub(crate) async fn list(app: &App, actor: &Actor, _: ListSigningKeys) -> Result<SigningKeyList> {
    app.read(actor, "list_signing_keys", |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let signer = unit.app().signer()?;
            let key = SigningKeyView {
                key_id: signer.key_id().to_owned(),
                algorithm: "Ed25519".into(),
                public_key: BASE64_URL_SAFE_NO_PAD.encode(signer.public_key()),
                active: true,
            };
            Ok(SigningKeyList { keys: vec![key] })
        })
    })
    .await
}
