//! Lists the definitions of a file from its syntax tree.

use std::ops::Range;

use tree_sitter::Node;

use super::nodes;
use crate::port::Definition;

/// The endings of node kinds that may be definitions.
const KIND_SUFFIXES: &[&str] =
    &["_item", "_definition", "_declaration", "_specifier", "_spec", "_signature", "_statement"];

/// The words of which such a kind must contain one, as `function` in `function_definition`.
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
    let definition = |node| {
        let (kind, name) = definition_of(node, text)?;
        Some(Definition { kind, name, range: full_range(node) })
    };
    nodes(root, |_| true).filter_map(definition).collect()
}

/// The kind and the name of the definition that a node is, such as `("function", "main")`.
fn definition_of(node: Node<'_>, text: &str) -> Option<(String, String)> {
    let child = |field: &str| node.child_by_field_name(field);
    let text_of = |node: Node<'_>| text.get(node.byte_range()).map(str::to_owned);
    match node.kind() {
        // An implementation in Rust has the name of its type; its kind includes the trait.
        "impl_item" => {
            let name = text_of(child("type")?)?;
            return Some(match child("trait").and_then(text_of) {
                Some(implemented) => (format!("impl {implemented} for"), name),
                None => ("impl".into(), name),
            });
        }
        // A method in Go has its type before its name: `func (t *Type[P]) name()`.
        "method_declaration" if child("receiver").is_some() => {
            let receiver = text_of(child("receiver")?)?;
            let receiver_type = receiver.trim_matches(['(', ')']).rsplit([' ', '*']).next()?;
            let receiver_type = receiver_type.split('[').next()?.to_owned();
            return Some((
                "method".into(),
                format!("{receiver_type}.{}", text_of(child("name")?)?),
            ));
        }
        // A function or class in JavaScript may be the value of a variable.
        "variable_declarator" => {
            let value = child("value")?.kind();
            let kind = match value {
                "arrow_function" | "function_expression" | "generator_function" => "function",
                "class" => "class",
                _ => return None,
            };
            return Some((kind.into(), text_of(child("name")?)?));
        }
        // The name of a function in C is in the innermost of its nested declarators.
        "function_definition" if child("declarator").is_some() => {
            let mut innermost = child("declarator")?;
            while let Some(nested) = innermost.child_by_field_name("declarator") {
                innermost = nested;
            }
            return Some(("function".into(), text_of(innermost)?));
        }
        // In Ruby, the kind of a definition is a plain word. Its keyword has the same kind, but is
        // not a named node.
        kind @ ("class" | "module" | "method" | "singleton_method") if node.is_named() => {
            return Some((kind.replace('_', " "), text_of(child("name")?)?));
        }
        _ => {}
    }
    let suffix = KIND_SUFFIXES.iter().find(|suffix| node.kind().ends_with(*suffix))?;
    let kind = node.kind().strip_suffix(suffix)?.replace('_', " ");
    if !kind.split(' ').any(|word| KIND_WORDS.contains(&word)) {
        return None;
    }
    // A property that a type only declares is not a definition.
    if kind == "property" && *suffix == "_signature" {
        return None;
    }
    // `struct s x` names a type that is defined elsewhere.
    if *suffix == "_specifier" && child("body").is_none() {
        return None;
    }
    Some((kind, text_of(child("name")?)?))
}

/// The bytes of a definition, including its decorators and the attributes and comments right above
/// it.
fn full_range(node: Node<'_>) -> Range<usize> {
    let mut outer = node;
    while let Some(parent) = outer.parent().filter(|parent| WRAPPERS.contains(&parent.kind())) {
        outer = parent;
    }
    let end = outer.end_byte();
    let mut first = outer;
    while let Some(above) = first.prev_sibling() {
        let is_attached = above.kind().contains("comment") || above.kind().contains("attribute");
        // A comment at the end of a line of code belongs to that line.
        let has_own_line =
            above.prev_sibling().is_none_or(|before| last_row(before) < above.start_position().row);
        let is_adjacent = last_row(above) + 1 >= first.start_position().row;
        if !(is_attached && has_own_line && is_adjacent) {
            break;
        }
        first = above;
    }
    first.start_byte()..end
}

/// The row of a node's last character. A node that includes its line break ends on the row before
/// its end position.
fn last_row(node: Node<'_>) -> usize {
    let (start, end) = (node.start_position(), node.end_position());
    if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row }
}
