//! Where a mistake can be made in a file, as edits of its text.
//!
//! Each mistake is switched on at run time, so every edit keeps the old meaning while its switch is off.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Item, Pat, ReturnType, Stmt, Type, UnOp};

/// A mistake: where it is, and what it does.
pub struct Site {
    pub line: usize,
    pub column: usize,
    pub what: &'static str,
    edits: Vec<Edit>,
}

/// `text` in the place of `range`. `SWITCH(` in it becomes the call that asks whether the mistake is on.
struct Edit {
    range: Range<usize>,
    text: String,
    /// Behind an expression, so that an inner one must come first.
    closes: bool,
}

/// All mistakes of a file.
pub fn sites(text: &str) -> syn::Result<Vec<Site>> {
    let mut finder = Finder { sites: Vec::new() };
    finder.visit_file(&syn::parse_file(text)?);
    Ok(finder.sites)
}

/// The text with the mistakes that have a number, and `switches` as the path to the functions that know which one is on.
pub fn edited(text: &str, sites: &[Site], number: impl Fn(usize) -> Option<u32>, switches: &str) -> String {
    let mut edits = Vec::new();
    for (order, site) in sites.iter().enumerate() {
        let Some(id) = number(order) else { continue };
        for edit in &site.edits {
            let text = edit.text.replace("SWITCH::", &format!("{switches}::")).replace("ID", &id.to_string());
            // At one place: what closes comes first, inner before outer; then what opens, outer before inner.
            let rank = if edit.closes { (0, usize::MAX - order) } else { (1, order) };
            edits.push((edit.range.start, rank, edit.range.end, text));
        }
    }
    edits.sort();
    let (mut result, mut at) = (String::with_capacity(2 * text.len()), 0);
    for (start, _, end, new) in edits {
        result.push_str(&text[at..start]);
        result.push_str(&new);
        at = end;
    }
    result.push_str(&text[at..]);
    result
}

struct Finder {
    sites: Vec<Site>,
}

impl Finder {
    fn add(&mut self, at: &impl Spanned, what: &'static str, edits: Vec<Edit>) {
        let start = at.span().start();
        self.sites.push(Site { line: start.line, column: start.column + 1, what, edits });
    }

    /// `before` and `after` around a piece of text.
    fn wrap(&mut self, at: &impl Spanned, what: &'static str, before: &str, after: &str) {
        let range = at.span().byte_range();
        let edits = vec![open(range.start, before), close(range.end, after)];
        self.add(at, what, edits);
    }

    fn condition(&mut self, condition: &Expr) {
        if !binds(condition) {
            self.wrap(condition, "condition always true", "((", ") || SWITCH::on(ID))");
            self.wrap(condition, "condition always false", "((", ") && !SWITCH::on(ID))");
        }
    }

    fn body(&mut self, output: &ReturnType, block: &Block) {
        if block.stmts.is_empty() {
            return;
        }
        for (what, value) in values(output) {
            let at = block.brace_token.span.open().byte_range().end;
            self.add(block, what, vec![open(at, &format!(" if SWITCH::on(ID) {{ return {value}; }}"))]);
        }
    }
}

impl<'a> Visit<'a> for Finder {
    fn visit_item(&mut self, item: &'a Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Const(_) | Item::Static(_) | Item::Macro(_) => return,
            _ => return visit::visit_item(self, item),
        };
        let test = |attribute: &syn::Attribute| {
            attribute.path().is_ident("test")
                || attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
        };
        if !attributes.iter().any(test) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        if function.sig.constness.is_none() {
            self.body(&function.sig.output, &function.block);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        if function.sig.constness.is_none() {
            self.body(&function.sig.output, &function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_impl_item_const(&mut self, _: &'a syn::ImplItemConst) {}

    fn visit_type(&mut self, _: &'a Type) {}

    fn visit_pat(&mut self, _: &'a Pat) {}

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement
            && removable(expression)
        {
            self.wrap(statement, "statement left out", "if !SWITCH::on(ID) { ", " }");
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_if(&mut self, expression: &'a syn::ExprIf) {
        self.condition(&expression.cond);
        visit::visit_expr_if(self, expression);
    }

    fn visit_expr_while(&mut self, expression: &'a syn::ExprWhile) {
        if !binds(&expression.cond) {
            self.wrap(&*expression.cond, "loop never entered", "((", ") && !SWITCH::on(ID))");
        }
        visit::visit_expr_while(self, expression);
    }

    fn visit_expr_match(&mut self, expression: &'a syn::ExprMatch) {
        let rest = expression.arms.last().filter(|arm| catches_all(&arm.pat)).map(|arm| arm.span().byte_range());
        for arm in &expression.arms {
            match &arm.pat {
                Pat::Guard(guarded) => {
                    self.condition(&guarded.guard);
                    self.visit_expr(&guarded.guard);
                }
                _ if rest.as_ref().is_some_and(|rest| *rest != arm.span().byte_range()) => {
                    let end = arm.pat.span().byte_range().end;
                    self.add(arm, "arm left out", vec![close(end, " if !SWITCH::on(ID)")]);
                }
                _ => {}
            }
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'a syn::ExprUnary) {
        if matches!(expression.op, UnOp::Not(_)) {
            self.wrap(expression, "negation left out", "((", ") ^ SWITCH::on(ID))");
        }
        visit::visit_expr_unary(self, expression);
    }

    fn visit_expr_binary(&mut self, expression: &'a syn::ExprBinary) {
        let (left, right) = (&*expression.left, &*expression.right);
        let mut call = |what, function: &str| {
            let operator = expression.op.span().byte_range();
            let range = expression.span().byte_range();
            let edits = vec![
                open(range.start, &format!("SWITCH::{function}(ID, &(")),
                Edit { range: operator, text: "), &(".into(), closes: false },
                close(range.end, "))"),
            ];
            self.add(expression, what, edits);
        };
        match expression.op {
            BinOp::Lt(_) => call("< is <=", "less"),
            BinOp::Le(_) => call("<= is <", "at_most"),
            BinOp::Gt(_) => call("> is >=", "more"),
            BinOp::Ge(_) => call(">= is >", "at_least"),
            BinOp::Eq(_) => self.wrap(expression, "== is !=", "((", ") ^ SWITCH::on(ID))"),
            BinOp::Ne(_) => self.wrap(expression, "!= is ==", "((", ") ^ SWITCH::on(ID))"),
            BinOp::And(_) if !binds(left) && !binds(right) => {
                self.wrap(left, "left of && left out", "((", ") || SWITCH::on(ID))");
                self.wrap(right, "right of && left out", "((", ") || SWITCH::on(ID))");
            }
            BinOp::Or(_) => {
                self.wrap(left, "left of || left out", "((", ") && !SWITCH::on(ID))");
                self.wrap(right, "right of || left out", "((", ") && !SWITCH::on(ID))");
            }
            BinOp::Add(_) | BinOp::Sub(_) if is_one(right) => {
                let function = if matches!(expression.op, BinOp::Add(_)) { "plus" } else { "minus" };
                let start = expression.span().byte_range().start;
                let rest = left.span().byte_range().end..right.span().byte_range().end;
                let edits = vec![
                    open(start, &format!("SWITCH::{function}(ID, ")),
                    Edit { range: rest, text: ")".into(), closes: true },
                ];
                self.add(expression, "1 left out", edits);
            }
            _ => {}
        }
        visit::visit_expr_binary(self, expression);
    }
}

fn open(at: usize, text: &str) -> Edit {
    Edit { range: at..at, text: text.into(), closes: false }
}

fn close(at: usize, text: &str) -> Edit {
    Edit { range: at..at, text: text.into(), closes: true }
}

/// Whether a condition binds variables, which it can only do where it stands.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

/// `_`, or a name, which unlike that of a variant begins with a small letter.
fn catches_all(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Ident(name) => name.subpat.is_none() && name.ident.to_string().starts_with(char::is_lowercase),
        _ => false,
    }
}

fn is_one(expression: &Expr) -> bool {
    matches!(expression, Expr::Lit(literal) if matches!(&literal.lit, syn::Lit::Int(one) if one.to_string() == "1"))
}

/// Whether a statement is there for what it does, and the program means something without it.
fn removable(expression: &Expr) -> bool {
    match expression {
        Expr::Try(inner) => removable(&inner.expr),
        Expr::Binary(binary) => matches!(
            binary.op,
            BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::BitOrAssign(_) | BinOp::BitAndAssign(_)
        ),
        Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_) => true,
        _ => false,
    }
}

/// What a function could return without looking at anything.
fn values(output: &ReturnType) -> Vec<(&'static str, String)> {
    let ReturnType::Type(_, output) = output else { return vec![("does nothing", String::new())] };
    plain(output)
}

fn plain(output: &Type) -> Vec<(&'static str, String)> {
    let Type::Path(path) = output else { return Vec::new() };
    let Some(last) = path.path.segments.last() else { return Vec::new() };
    match last.ident.to_string().as_str() {
        "bool" => vec![("returns true", "true".into()), ("returns false", "false".into())],
        "usize" | "u64" | "u32" | "u16" | "u8" => vec![("returns 0", "0".into()), ("returns 1", "1".into())],
        "Option" => vec![("returns None", "None".into())],
        "Vec" => vec![("returns no elements", "Vec::new()".into())],
        "String" => vec![("returns no text", "String::new()".into())],
        "Result" => {
            let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return Vec::new() };
            let Some(syn::GenericArgument::Type(inner)) = arguments.args.first() else { return Vec::new() };
            if matches!(inner, Type::Tuple(tuple) if tuple.elems.is_empty()) {
                return vec![("returns Ok", "Ok(())".into())];
            }
            plain(inner).into_iter().map(|(what, value)| (what, format!("Ok({value})"))).collect()
        }
        _ => Vec::new(),
    }
}
