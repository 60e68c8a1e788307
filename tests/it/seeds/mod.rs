//! The five seeds, requirement by requirement.

mod line_tools;
