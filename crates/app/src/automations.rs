//! Automations: what starts runs without a person. Each is checked like the start of a run when it is made and when it is
//! changed, enabled or not, and again at each delivery.

mod change;
mod ci_dispatches;
mod deliver;
mod delivery;
mod fire;
mod kinds;
mod schedules;
mod signature;
mod webhooks;

pub(crate) use ci_dispatches::{
    create as create_ci_dispatch, delete as delete_ci_dispatch, dispatch as dispatch_ci, get as get_ci_dispatch,
    list as list_ci_dispatches, update as update_ci_dispatch,
};
pub(crate) use schedules::{
    create as create_schedule, delete as delete_schedule, get as get_schedule, list as list_schedules,
    update as update_schedule,
};
pub(crate) use webhooks::{
    create as create_webhook, delete as delete_webhook, get as get_webhook, list as list_webhooks,
    reseal_some as reseal_some_webhooks, update as update_webhook,
};

pub use deliver::VerifiedDelivery;
pub use signature::SignedDelivery;
