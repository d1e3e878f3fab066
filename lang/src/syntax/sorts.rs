//! Sort expressions and typed variables, from pairs to the tree.

use super::grammar::{Deep, Reader, Rule, parts, parts_of};
use super::tree::{Container, Ident, Sort, SortKind, StructConstructor, VarDecl};
use crate::diagnostic::Span;
use pest::iterators::Pair;
use std::sync::Arc;

impl Reader {
    /// A sort in which `#` stands only before `->`.
    pub(super) fn sort(&mut self, pair: Pair<'_, Rule>) -> Deep<Sort> {
        let sorts = self.sort_product(pair);
        self.single_sort(
            sorts,
            "a product of sorts can only be the domain of a function",
            "write '-> S' behind it, or use a 'struct' with several fields",
        )
    }

    /// The only one of some sorts, or else the first of them and an error.
    fn single_sort(&mut self, sorts: Vec<Deep<Sort>>, message: &str, help: &str) -> Deep<Sort> {
        if let [first, .., last] = &sorts[..] {
            self.error_help(first.node.span.to(last.node.span), message, help);
        }
        sorts.into_iter().next().unwrap_or_else(|| no_sort(Span::default()))
    }

    /// The sorts of `A # B`; a single one for everything else. A product in front of `->` may stand in parentheses.
    pub(super) fn sort_product(&mut self, pair: Pair<'_, Rule>) -> Vec<Deep<Sort>> {
        let mut domains = Vec::new();
        let mut product = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::product => {}
                Rule::arrow => domains.push(std::mem::take(&mut product)),
                Rule::sort_parens => {
                    for inner in parts(part) {
                        product.extend(self.sort_product(inner));
                    }
                }
                _ => product.push(self.sort_primary(part)),
            }
        }
        // '->' associates to the right: the last domain is the innermost.
        while let Some(domain) = domains.pop() {
            let codomain = self.single_sort(
                product,
                "a function has one result; a product of sorts cannot be it",
                "use a 'struct' with several fields",
            );
            product = vec![self.function_sort(domain, codomain)];
        }
        product
    }

    fn function_sort(&mut self, domain: Vec<Deep<Sort>>, codomain: Deep<Sort>) -> Deep<Sort> {
        let span = domain.first().map_or(codomain.node.span, |first| first.node.span.to(codomain.node.span));
        let below = domain.iter().map(|sort| sort.depth).max().unwrap_or(0).max(codomain.depth);
        let domain = domain.into_iter().map(|sort| sort.node).collect();
        self.sort_node(SortKind::Function(domain, Box::new(codomain.node)), span, below)
    }

    fn sort_node(&mut self, kind: SortKind, span: Span, below: u32) -> Deep<Sort> {
        match self.deepen(below, span) {
            Some(depth) => Deep { node: Sort { kind, span }, depth },
            None => no_sort(span),
        }
    }

    fn sort_primary(&mut self, pair: Pair<'_, Rule>) -> Deep<Sort> {
        let span = self.span(&pair);
        match pair.as_rule() {
            Rule::container_sort => self.container_sort(pair, span),
            Rule::structured_sort => self.structured_sort(pair),
            _ => Deep::leaf(Sort { kind: SortKind::Name(Arc::from(pair.as_str())), span }),
        }
    }

    fn container_sort(&mut self, pair: Pair<'_, Rule>, span: Span) -> Deep<Sort> {
        let mut container = Container::List;
        let mut element = no_sort(span);
        for part in parts(pair) {
            match part.as_str() {
                "List" => container = Container::List,
                "Set" => container = Container::Set,
                "FSet" => container = Container::FSet,
                "Bag" => container = Container::Bag,
                "FBag" => container = Container::FBag,
                _ => element = self.sort(part),
            }
        }
        self.sort_node(SortKind::Container(container, Box::new(element.node)), span, element.depth)
    }

    fn structured_sort(&mut self, pair: Pair<'_, Rule>) -> Deep<Sort> {
        let mut span = Span::new(self.span(&pair).start as usize, self.span(&pair).start as usize);
        let mut below = 0;
        let mut constructors = Vec::new();
        for part in parts(pair) {
            let (constructor, depth, end) = self.constructor(part);
            constructors.push(constructor);
            below = below.max(depth);
            span = span.to(end);
        }
        self.sort_node(SortKind::Struct(constructors), span, below)
    }

    /// A constructor, the depth of its sorts, and its place.
    fn constructor(&mut self, pair: Pair<'_, Rule>) -> (StructConstructor, u32, Span) {
        let mut name = self.ident(&pair);
        let mut span = name.span;
        let mut fields = Vec::new();
        let mut recogniser = None;
        let mut below = 0;
        for part in parts(pair) {
            match part.as_rule() {
                Rule::name => {
                    name = self.ident(&part);
                    span = name.span;
                }
                Rule::fields => {
                    span = span.to(self.span(&part));
                    for field in parts_of(part, Rule::field) {
                        let (field, depth) = self.field(field);
                        below = below.max(depth);
                        fields.extend(field);
                    }
                }
                Rule::recogniser => {
                    recogniser = parts(part).next().map(|name| self.ident(&name));
                    span = recogniser.iter().fold(span, |span, name| span.to(name.span));
                }
                _ => {}
            }
        }
        (StructConstructor { name, fields, recogniser }, below, span)
    }

    fn field(&mut self, pair: Pair<'_, Rule>) -> (Option<(Option<Ident>, Sort)>, u32) {
        let mut projection = None;
        let mut sort = None;
        for part in parts(pair) {
            match part.as_rule() {
                Rule::name => projection = Some(self.ident(&part)),
                _ => sort = Some(self.sort(part)),
            }
        }
        let depth = sort.as_ref().map_or(0, |sort| sort.depth);
        (sort.map(|sort| (projection, sort.node)), depth)
    }

    /// `x, y: S, z: T`, one entry for each name, and the depth of their sorts.
    pub(super) fn vars(&mut self, pair: Pair<'_, Rule>) -> (Vec<VarDecl>, u32) {
        let mut vars = Vec::new();
        let mut below = 0;
        for group in parts_of(pair, Rule::var_group) {
            let mut names = Vec::new();
            for part in parts(group) {
                match part.as_rule() {
                    Rule::names => names.extend(parts(part).map(|name| self.ident(&name))),
                    _ => {
                        let sort = self.sort(part);
                        below = below.max(sort.depth);
                        self.check_copies(&mut names, sort.node.span);
                        vars.extend(names.drain(..).map(|name| VarDecl { name, sort: sort.node.clone() }));
                    }
                }
            }
        }
        (vars, below)
    }

    /// Each name of `a, b, c: S` gets a copy of the sort. Keeps what a short text can ask for within reason.
    pub(super) fn check_copies(&mut self, names: &mut Vec<Ident>, sort: Span) {
        const MOST_BYTES: usize = 16 << 20;
        if names.len() * ((sort.end - sort.start) as usize) > MOST_BYTES {
            names.truncate(1);
            self.error_help(
                sort,
                "too many names share a sort as long as this",
                "give the sort a name of its own",
            );
        }
    }
}

/// Stands where a sort had to be refused; the diagnostics keep it from being used.
fn no_sort(span: Span) -> Deep<Sort> {
    Deep::leaf(Sort { kind: SortKind::Name(Arc::from("Bool")), span })
}
