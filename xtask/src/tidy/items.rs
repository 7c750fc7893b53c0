//! No rule: the items of a source text.

use std::collections::BTreeSet;

use syn::{ImplItem, Item, TraitItem, Type};

/// The items of a file, as pages name them: those of a type or trait behind its name.
pub fn items_of(syntax: &syn::File) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    find_items(&syntax.items, "", &mut found);
    found
}

/// Finds the items in a module whose path, up to the last `::`, is `before`.
fn find_items(items: &[Item], before: &str, found: &mut BTreeSet<String>) {
    for item in items {
        let name = match item {
            Item::Const(it) => it.ident.to_string(),
            Item::Enum(it) => it.ident.to_string(),
            Item::Fn(it) => it.sig.ident.to_string(),
            Item::Impl(it) => name_of_type(&it.self_ty),
            Item::Mod(it) => it.ident.to_string(),
            Item::Static(it) => it.ident.to_string(),
            Item::Struct(it) => it.ident.to_string(),
            Item::Trait(it) => it.ident.to_string(),
            Item::Type(it) => it.ident.to_string(),
            _ => continue,
        };
        let path = format!("{before}{name}");

        for member in members_of(item) {
            found.insert(format!("{path}::{member}"));
        }
        if let Item::Mod(it) = item
            && let Some((_, items)) = &it.content
        {
            find_items(items, &format!("{path}::"), found);
        }
        // The type of an `impl` may stand in another file.
        if !matches!(item, Item::Impl(_)) {
            found.insert(path);
        }
    }
}

/// The variants, functions and constants of an item.
fn members_of(item: &Item) -> Vec<String> {
    let mut members = Vec::new();
    match item {
        Item::Enum(it) => {
            for variant in &it.variants {
                members.push(variant.ident.to_string());
            }
        }
        Item::Trait(it) => {
            for item in &it.items {
                if let TraitItem::Fn(function) = item {
                    members.push(function.sig.ident.to_string());
                }
            }
        }
        Item::Impl(it) => {
            for item in &it.items {
                match item {
                    ImplItem::Const(constant) => members.push(constant.ident.to_string()),
                    ImplItem::Fn(function) => members.push(function.sig.ident.to_string()),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    members
}

/// The last name of a type, without references and what is in angle brackets.
fn name_of_type(of: &Type) -> String {
    match of {
        Type::Path(it) => it.path.segments.last().map_or(String::new(), |it| it.ident.to_string()),
        Type::Reference(it) => name_of_type(&it.elem),
        _ => String::new(),
    }
}
