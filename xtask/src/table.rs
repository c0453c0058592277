//! Text tables.

/// Prints `rows` under `head`, each column as wide as its longest cell.
pub(crate) fn print<const N: usize>(head: [&str; N], rows: &[[String; N]]) {
    let mut width = head.map(str::len);
    for row in rows {
        for (width, cell) in width.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[&str]| {
        let padded = cells.iter().zip(width).map(|(cell, width)| format!("{cell:width$}"));
        println!("{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    };
    line(&head);
    for row in rows {
        line(&row.each_ref().map(String::as_str));
    }
}
