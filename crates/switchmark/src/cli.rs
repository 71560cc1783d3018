//! The verbs. Arguments become a plan, a plan is carried out, the outcome becomes an exit code.
