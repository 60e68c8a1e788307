//! What a file defines under a name, off its tree: nodes of a defining kind that have a name.

use std::ops::Range;

use tree_sitter::Node;

use crate::port::Definition;

/// What the kinds of defining nodes end in.
const KIND_SUFFIXES: &[&str] =
    &["_item", "_definition", "_declaration", "_specifier", "_spec", "_signature", "_statement"];

/// And what they are about.
const KIND_WORDS: &[&str] = &[
    "function",
    "method",
    "constructor",
    "class",
    "struct",
    "enum",
    "union",
    "trait",
    "interface",
    "mod",
    "module",
    "namespace",
    "record",
    "impl",
    "macro",
    "type",
    "property",
    "delegate",
];

/// Nodes that only wrap a definition.
const WRAPPERS: &[&str] = &[
    "decorated_definition",
    "export_statement",
    "template_declaration",
    "type_declaration",
    "lexical_declaration",
    "variable_declaration",
];

/// Every definition of a tree, in the order of the text.
pub(super) fn definitions(root: Node<'_>, text: &str) -> Vec<Definition> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        if let Some((kind, name)) = definition_of(cursor.node(), text) {
            found.push(Definition { kind, name, range: full_range(cursor.node()) });
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

/// What a node defines, and its name; both in the words of the file.
fn definition_of(node: Node<'_>, text: &str) -> Option<(String, String)> {
    let of = |field: &str| node.child_by_field_name(field);
    let text_of = |node: Node<'_>| text.get(node.byte_range()).map(str::to_owned);
    match node.kind() {
        // An implementation is named by its type, and told apart by its trait.
        "impl_item" => {
            let name = text_of(of("type")?)?;
            return Some(match of("trait").and_then(text_of) {
                Some(of) => (format!("impl {of} for"), name),
                None => ("impl".into(), name),
            });
        }
        // A method of Go names its type in front.
        "method_declaration" if of("receiver").is_some() => {
            let receiver = text_of(of("receiver")?)?;
            let receiver = receiver.trim_matches(['(', ')']).rsplit([' ', '*']).next()?;
            let receiver = receiver.split('[').next()?.to_owned();
            return Some(("method".into(), format!("{receiver}.{}", text_of(of("name")?)?)));
        }
        // A function that is the value of a variable.
        "variable_declarator" => {
            let value = of("value")?.kind();
            let kind = match value {
                "arrow_function" | "function_expression" | "generator_function" => "function",
                "class" => "class",
                _ => return None,
            };
            return Some((kind.into(), text_of(of("name")?)?));
        }
        // C names functions in the middle of their declarator.
        "function_definition" if of("declarator").is_some() => {
            let mut inner = of("declarator")?;
            while let Some(deeper) = inner.child_by_field_name("declarator") {
                inner = deeper;
            }
            return Some(("function".into(), text_of(inner)?));
        }
        // Ruby's kinds are plain words, and so are those of its keywords.
        kind @ ("class" | "module" | "method" | "singleton_method") if node.is_named() => {
            return Some((kind.replace('_', " "), text_of(of("name")?)?));
        }
        _ => {}
    }
    let suffix = KIND_SUFFIXES.iter().find(|suffix| node.kind().ends_with(*suffix))?;
    let kind = node.kind().strip_suffix(suffix)?.replace('_', " ");
    if !kind.split(' ').any(|word| KIND_WORDS.contains(&word)) {
        return None;
    }
    // What a type has is none of its definitions.
    if kind == "property" && *suffix == "_signature" {
        return None;
    }
    // `struct s x` names a type that is defined elsewhere.
    if *suffix == "_specifier" && of("body").is_none() {
        return None;
    }
    Some((kind, text_of(of("name")?)?))
}

/// The lines of a definition with what belongs to it: decorators, attributes, comments right
/// above.
fn full_range(node: Node<'_>) -> Range<usize> {
    let mut outer = node;
    while let Some(parent) = outer.parent().filter(|parent| WRAPPERS.contains(&parent.kind())) {
        outer = parent;
    }
    let end = outer.end_byte();
    let mut first = outer;
    while let Some(above) = first.prev_sibling() {
        let belongs = above.kind().contains("comment") || above.kind().contains("attribute");
        // The comment of a line is about that line.
        let own_line =
            above.prev_sibling().is_none_or(|before| last_row(before) < above.start_position().row);
        if !belongs || !own_line || last_row(above) + 1 < first.start_position().row {
            break;
        }
        first = above;
    }
    first.start_byte()..end
}

/// The row of the last character: some comments end with the line break.
fn last_row(node: Node<'_>) -> usize {
    let (start, end) = (node.start_position(), node.end_position());
    if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row }
}
