//! Units and statistics as their users call them. Nothing here reads a clock, and every random draw
//! has a seed, so all run beside each other.

mod any_text;
mod bootstraps;
mod campaigns;
mod changes;
mod comparisons;
mod counting;
mod coverage;
mod delays;
mod dependence;
mod draws;
mod quantiles;
mod units;
mod variance_shares;
