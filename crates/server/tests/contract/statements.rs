//! Which SQL statements a call runs, in order. The store tells them to whoever listens, without their values.

use std::{
    cell::RefCell,
    fmt::{self, Write as _},
};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, SubscriberExt as _},
};

/// Where the store tells its statements.
const TARGET: &str = "pinhole_store::sql";

thread_local! {
    static STATEMENTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct Listener;

impl<S: Subscriber> Layer<S> for Listener {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == TARGET {
            let mut statement = Statement::default();
            event.record(&mut statement);
            STATEMENTS.with_borrow_mut(|statements| statements.push(statement.0));
        }
    }
}

#[derive(Default)]
struct Statement(String);

impl Visit for Statement {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "statement" {
            value.clone_into(&mut self.0);
        }
    }

    fn record_debug(&mut self, _: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, "{value:?}");
    }
}

/// Listens on this thread until the guard is dropped. A test on a runtime of one thread runs all of its calls there.
pub(crate) fn listen() -> tracing::subscriber::DefaultGuard {
    tracing::subscriber::set_default(Registry::default().with(Listener))
}

/// The statements since this was asked last.
pub(crate) fn heard() -> Vec<String> {
    STATEMENTS.take()
}
