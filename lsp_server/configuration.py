"""Where the settings come from while the server runs: the editor pushes them, or is asked for them."""

import logging
from collections.abc import Callable

from lsprotocol import types

from lsp_server.questions import Questions, UnansweredError

SECTION = "draftline"

logger = logging.getLogger(__name__)


class Configuration:
    """Keeps settings as the editor has them, by the means that its capabilities allow."""

    def __init__(
        self, questions: Questions, capabilities: types.ClientCapabilities, on_settings: Callable[[object], None]
    ) -> None:
        """on_settings: is given our section as the editor has it now, any JSON; None where it has none."""
        self._questions = questions
        self._on_settings = on_settings
        self._can_ask, self._can_register = _abilities(capabilities.workspace)
        self._num_changes = 0

    async def ask(self) -> None:
        """Asks for our section; what has been pushed or asked for since the question takes precedence."""
        if not self._can_ask:
            return
        self._num_changes += 1
        asked = self._num_changes
        params = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
        try:
            sections = await self._questions.ask(types.WORKSPACE_CONFIGURATION, params)
        except UnansweredError as error:
            logger.info("the settings stay as they are: %s", error)
            return
        if asked == self._num_changes:
            self._on_settings(sections[0] if isinstance(sections, list) and sections else None)

    async def register(self) -> None:
        """Asks to be told of changes, where the editor wants to be asked for that."""
        if not self._can_register:
            return
        options = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
        method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
        registration = types.Registration("draftline-configuration", method, options)
        try:
            await self._questions.ask(types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams([registration]))
        except UnansweredError as error:
            logger.info("changed settings may need a restart of the editor: %s", error)

    async def changed(self, settings: object) -> None:
        """The editor says that settings have changed, and to what, or leaves that to be asked."""
        if isinstance(settings, dict) and SECTION in settings:
            self._num_changes += 1
            self._on_settings(settings[SECTION])
        else:
            await self.ask()


def _abilities(workspace: types.WorkspaceClientCapabilities | None) -> tuple[bool, bool]:
    """Whether the editor can be asked for settings, and whether it lets us register for their changes."""
    if workspace is None:
        return False, False
    changes = workspace.did_change_configuration
    return bool(workspace.configuration), bool(changes and changes.dynamic_registration)
