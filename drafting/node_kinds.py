"""What syntax nodes are for, in a few kinds that all grammars share."""

import re
from enum import IntEnum

from tree_sitter import Language


class NodeKind(IntEnum):
    """One byte for each token; UNKNOWN where there is no grammar, or the node is none of these."""

    UNKNOWN = 0
    STATEMENT = 1
    """Inside a statement, a declaration or a definition, but in no smaller node of interest."""
    STATEMENT_START = 2
    BODY = 3
    """Between the statements of a block, the members of a class, the pairs of a mapping."""
    EXPRESSION = 4
    CALL = 5
    ARGUMENTS = 6
    PARAMETERS = 7
    COLLECTION = 8
    MEMBER = 9
    """A name after a dot, an arrow or two colons."""
    TYPE = 10
    STRING = 11
    COMMENT = 12
    IMPORT = 13
    NUMBER = 14
    MARKUP = 15
    """Tags, headings and prose."""


_RULES = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"comment", NodeKind.COMMENT),
        (r"string|heredoc|char_literal|character_literal|rune_literal|raw_text|scalar$|regex", NodeKind.STRING),
        (r"parameters?(_list|_clause|_declaration)?$|^preproc_params$", NodeKind.PARAMETERS),
        (r"argument(s|_list)$|^token_tree$", NodeKind.ARGUMENTS),
        (r"^import|^preproc_include|use_declaration|^include|^package|^using_directive", NodeKind.IMPORT),
        (r"block$|body$|(^|_)statement_list$|compound_statement|declaration_list", NodeKind.BODY),
        (r"^suite$|^stylesheet$|^column_definitions$", NodeKind.BODY),
        (r"_statement$|^statement$|_definition$|_declaration$|^declaration$|(?<!with)_item$", NodeKind.STATEMENT),
        (r"pair$|^keyed_element$|^rule_set$|^match_arm$|^table(_array_element)?$", NodeKind.STATEMENT),
        (r"^(method|class|module|command|pipeline|variable_assignment)$", NodeKind.STATEMENT),
        (r"^preproc_(def|function_def|call|if|ifdef)$|^(struct|enum|union|class)_specifier$", NodeKind.STATEMENT),
        (r"(^|_)type(s|_|$)", NodeKind.TYPE),
        (r"integer|float|number|decimal|numeric|int_literal", NodeKind.NUMBER),
        (r"call|invocation|object_creation", NodeKind.CALL),
        (r"^(list|array|dictionary|set|tuple|object|hash|table_constructor|literal_value|use_list)$|"
         r"initializer(_list)?$|flow_(sequence|mapping)|inline_table", NodeKind.COLLECTION),
        (r"expression|operator$|^assignment|^binary|^unary|^term$|_assignment$", NodeKind.EXPRESSION),
        (r"tag$|^element$|^jsx_|heading|paragraph|^inline$|^text$|attribute_value", NodeKind.MARKUP),
    )
)  # fmt: skip
"""The first pattern that the name of a named node matches decides; written for the grammars that `Syntax` knows."""


def kind_table(language: Language) -> bytes:
    """The NodeKind of each of a grammar's own kind numbers."""
    return bytes(
        _kind(language.node_kind_for_id(number) or "", named=language.node_kind_is_named(number))
        for number in range(language.node_kind_count)
    )


def _kind(name: str, *, named: bool) -> NodeKind:
    """The kind of a node by its name in the grammar.

    >>> _kind("function_definition", named=True), _kind(".", named=False)
    (<NodeKind.STATEMENT: 1>, <NodeKind.MEMBER: 9>)
    """
    if not named:
        return NodeKind.MEMBER if name in (".", "?.", "->", "::") else NodeKind.UNKNOWN
    return next((kind for pattern, kind in _RULES if pattern.search(name)), NodeKind.UNKNOWN)
