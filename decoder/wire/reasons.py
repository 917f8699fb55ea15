"""The reasons of empty answers in plain words, each with what to do: the one list of all that there are."""

REASONS: dict[str, str] = {
    # the model's state
    "loading": "The model was still being loaded: ask again in a moment.",
    "engine_error": "It failed",
    # overtaken
    "superseded": "A newer key or request in the same document came first: nothing to do.",
    "cancelled": "The editor took the request back, as it does at the next key: nothing to do.",
    "client_gone": "The editor left before the answer: nothing to do.",
    "stopping": "The decoder was being stopped: the next request starts it again.",
    # the text
    "model_wrote_nothing": "The model ended the text here: type on, or try a larger `model` in config.toml.",
    "nothing_left_after_trim": "All that the model wrote stands behind the cursor already, or repeats itself: type on.",
    "suppressed:nothing_before": "There is nothing before the cursor to go on from: type a first word.",
    "suppressed:comment": "The cursor is in a comment, and the setting `comments` is false.",
    "warmed_up": "The text was only read in advance, nothing was asked: nothing to do.",
    # the server's own
    "not_open": "The editor asked about a file that it has not opened here: open it again.",
    "suppressed:disabled": "Completions are switched off: set `enabled` to true in the editor's settings.",
    "suppressed:language": "The setting `languages` leaves this language out: change it there.",
    "suppressed:not_drawn": "The text would be indented less than the line is, which Neovim draws wrongly by itself: "
    "install the plugin of editors/neovim.",
    "suppressed:inside_word": "The cursor is inside a word: go to its end, or ask explicitly.",
    "suppressed:after_deletion": "A key or two have just been deleted, as one puts a slip right: type on, or ask"
    " explicitly.",
    "suppressed:excluded": "The file is kept from the decoder: its name is that of a secret, git ignores it, or the"
    " setting `exclude` names it; `exclude` with `!name` lets it in.",
    "decoder_unavailable": "The decoder could not be started: `draftline doctor` says why.",
    "decoder_gone": "The decoder ended while it was at this: the next request starts it again.",
    "decoder_busy": "The decoder does not take requests fast enough: wait, or end it with `draftline stop`.",
    "decoder_silent": "The decoder has not answered for a minute: end it with `draftline stop`.",
}
"""By the reason, or the part of it before `: `, behind which there is what went wrong."""

_PRECISE: dict[str, str] = {
    "suppressed:language": "The setting `languages` leaves {} out: change it there.",
    "suppressed:excluded": "The file is kept from the decoder: {}.",
}
"""Instead of the above, where what stands behind `: ` tells more; `{}` is its place."""


def explanation(reason: str) -> str:
    """What a reason means for the person who saw nothing.

    >>> explanation("engine_error: no such model; run `draftline models list`")
    'It failed: no such model; run `draftline models list`'
    >>> explanation("suppressed:language: rust")
    'The setting `languages` leaves rust out: change it there.'
    >>> explanation("suppressed:of_a_newer_draftline")
    'suppressed:of_a_newer_draftline (not a reason that this version knows)'
    """
    kind, separator, detail = reason.partition(": ")
    if separator and kind in _PRECISE:
        return _PRECISE[kind].format(detail)
    known = REASONS.get(kind)
    if known is None:
        return f"{reason} (not a reason that this version knows)"
    return f"{known}{separator}{detail}"
