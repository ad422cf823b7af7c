//! The figures as tables for people: captures and CPU against the limit, and the phases of a capture.

use std::collections::BTreeMap;

use super::{
    Mode,
    harness::{Figures, LIMIT, PRODUCT},
    phases::{PHASES, Phased},
};

/// Captures and CPU time of one mode, a line for each number of lanes. Ratios are taken round by round.
pub(super) fn rates(mode: Mode, figures: &[Figures]) -> Vec<String> {
    let of = |driver: &str, lanes: u32| figures.iter().find(|f| f.driver == driver && f.conc == lanes);
    let products = figures.iter().filter(|figures| figures.driver == PRODUCT);
    products
        .filter_map(|product| {
            let limit = of(LIMIT, product.conc)?;
            let rates = ratios(&product.rate, &limit.rate);
            let (ours, theirs) = (cpu(product), cpu(limit));
            let cpus = ratios(&ours, &theirs);
            Some(format!(
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} / {} | {} |",
                mode.name(),
                product.conc,
                number(median(&product.rate), 2),
                number(median(&limit.rate), 2),
                number(median(&rates), 2),
                number(median(&ours), 3),
                number(median(&theirs), 3),
                number(median(&cpus), 2),
                number(Some(product.p50), 0),
                number(Some(product.p95), 0),
                number(median(&product.other), 2),
            ))
        })
        .collect()
}

/// The head of the table that [`rates`] fills.
pub(super) const RATES_HEAD: &str = "\
| capture | lanes | captures/s | limit | x limit | CPU s/capture | limit | x limit | p50 / p95 ms | other load, cores |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

/// Captures that were all admitted at once, against the limit of the rounds just before.
pub(super) fn queued(mode: Mode, lanes: u32, measured: &[f64], figures: &[Figures]) -> Option<String> {
    let limit = figures.iter().find(|figures| figures.driver == LIMIT && figures.conc == lanes)?;
    let (ours, theirs) = (median(measured)?, median(&limit.rate)?);
    Some(format!("| {} | {lanes} | {ours:.2} | {theirs:.2} | {:.2} |", mode.name(), ours / theirs))
}

/// The head of the table that [`queued`] fills.
pub(super) const QUEUED_HEAD: &str = "\
| capture | lanes | captures/s | limit | x limit |
|---|--:|--:|--:|--:|";

/// The phases of a mode: median and mean of each, for each number of lanes.
pub(super) fn phases(captures: &[Phased]) -> Vec<String> {
    let mut lanes: Vec<u32> = captures.iter().map(|capture| capture.lanes).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let mut lines = Vec::new();
    for count in lanes {
        let these: Vec<_> = captures.iter().filter(|capture| capture.lanes == count).collect();
        lines.push(format!("\n{count} lane(s), {} captures, verdicts {}", these.len(), verdicts(&these)));
        lines.push("| phase | median ms | mean ms | share of the mean | |\n|---|--:|--:|--:|---|".to_owned());
        let mean = |of: &dyn Fn(&Phased) -> f64| these.iter().map(|c| of(c)).sum::<f64>() / these.len() as f64;
        let whole = mean(&|capture| capture.ms.iter().sum());
        for (index, (name, what)) in PHASES.iter().enumerate() {
            let ms: Vec<f64> = these.iter().filter_map(|capture| capture.ms.get(index).copied()).collect();
            let part = mean(&|capture| capture.ms.get(index).copied().unwrap_or_default());
            let (middle, share) = (number(median(&ms), 1), part / whole * 100.0);
            lines.push(format!("| {name} | {middle} | {part:.1} | {share:.0} % | {what} |"));
        }
        let sums: Vec<f64> = these.iter().map(|capture| capture.ms.iter().sum()).collect();
        lines.push(format!("| whole | {} | {whole:.1} | 100 % | |", number(median(&sums), 1)));
    }
    lines
}

fn verdicts(captures: &[&Phased]) -> String {
    let mut counts = BTreeMap::new();
    for capture in captures {
        *counts.entry(capture.verdict.as_str()).or_insert(0_u32) += 1;
    }
    counts.iter().map(|(verdict, count)| format!("{verdict} {count}")).collect::<Vec<_>>().join(", ")
}

/// All CPU seconds of each capture, round by round; empty where the machine cannot account.
fn cpu(figures: &Figures) -> Vec<f64> {
    figures.cpu.iter().zip(&figures.client).filter_map(|(cpu, client)| cpu.map(|cpu| cpu + client)).collect()
}

fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}

/// The middle value.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    let lower = if sorted.len().is_multiple_of(2) { *sorted.get(middle.checked_sub(1)?)? } else { upper };
    Some(lower.midpoint(upper))
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(driver: &str, rate: &[f64], cpu: &[Option<f64>]) -> Figures {
        let (client, other) = (vec![0.01; rate.len()], vec![0.5; rate.len()]);
        Figures {
            conc: 1,
            driver: driver.into(),
            rate: rate.to_vec(),
            cpu: cpu.to_vec(),
            client,
            p50: 200.4,
            p95: 401.0,
            other,
        }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // The medians alone would give 2.0 / 4.0.
        let ours = figures(PRODUCT, &[1.0, 2.0, 6.0], &[Some(0.29); 3]);
        let limit = figures(LIMIT, &[4.0, 2.5, 8.0], &[Some(0.19); 3]);
        let lines = rates(Mode::First, &[limit, ours]);
        assert_eq!(lines, ["| first | 1 | 2.00 | 4.00 | 0.75 | 0.300 | 0.200 | 1.50 | 200 / 401 | 0.50 |"]);
    }

    #[test]
    fn without_accounting_there_is_no_cpu_figure() {
        let ours = figures(PRODUCT, &[1.0, 3.0], &[None, None]);
        let limit = figures(LIMIT, &[2.0, 4.0], &[None, None]);
        let lines = rates(Mode::Unchanged, &[limit, ours]);
        assert_eq!(lines, ["| unchanged | 1 | 2.00 | 3.00 | 0.62 | - | - | - | 200 / 401 | 0.50 |"]);
    }

    #[test]
    fn phases_add_up() {
        let capture = |ms: f64| Phased { lanes: 1, page: "p".into(), verdict: "new".into(), ms: [ms; PHASES.len()] };
        let lines = phases(&[capture(1.0), capture(3.0)]);
        assert_eq!(lines[0], "\n1 lane(s), 2 captures, verdicts new 2");
        assert!(lines[2].starts_with("| admission | 2.0 | 2.0 | 17 % |"), "{}", lines[2]);
        assert_eq!(lines.last().unwrap(), "| whole | 12.0 | 12.0 | 100 % | |");
    }
}
