//! Schema and parser of every operation agree: what its input schema lets through is a command, and nothing else is.
//!
//! Values are made from the schemas, then spoilt at one place. Formats are left to the parser: a schema only names them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its preparation fails")]

mod generator;

use generator::Generator;
use pinhole_contract::{OperationSpec, specs};
use proptest::{
    prelude::any,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::Value;

/// Members with a language of their own, which no schema can tell: the parser may take less than the schema.
const LANGUAGES: &[&str] = &["cron", "time_zone"];
/// Values for each operation.
const CASES: u32 = 200;

#[test]
fn what_the_schema_lets_through_is_what_the_parser_takes() {
    let cases = if std::env::var_os("PINHOLE_FULL").is_some() { CASES * 20 } else { CASES };
    for operation in specs() {
        check(operation, cases);
    }
}

fn check(operation: &OperationSpec, cases: u32) {
    let (name, schema) = (operation.spec.name, (operation.schemas)().input.to_value());
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let agree = |value: &Value| {
        let said = validator.validate(value).map_err(|error| error.to_string());
        let done = (operation.check)(value.clone());
        let field = done.as_ref().err().and_then(|error| error.details().field.clone()).unwrap_or_default();
        if said.is_ok() && LANGUAGES.contains(&field.rsplit('.').next().unwrap_or_default()) {
            return false;
        }
        assert_eq!(said.is_ok(), done.is_ok(), "{name}: schema {said:?}, parser {done:?}:\n{value:#}");
        said.is_ok()
    };
    let (mut good, mut bad) = (0, 0);
    // The same values every time, but for the long form.
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = match cases {
        CASES => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
        _ => TestRunner::new(config),
    };
    let counted = std::cell::RefCell::new((&mut good, &mut bad));
    let outcome = runner.run(&any::<u64>(), |seed| {
        let mut generator = Generator::new(&schema, seed);
        let value = generator.value();
        let (good, bad) = &mut *counted.borrow_mut();
        **good += u32::from(agree(&value));
        **bad += u32::from(!agree(&generator.spoilt(value)));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let has_language = LANGUAGES.iter().any(|member| schema.to_string().contains(&format!("\"{member}\"")));
    assert!(has_language || good * 2 > cases, "{name}: the generator makes too few commands: {good} of {cases}");
    assert!(bad * 5 > cases, "{name}: too few values are spoilt: {bad} of {cases}");
}
