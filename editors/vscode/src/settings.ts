/** The settings as the server gets them. */

/** The section `draftline` without what is the extension's own; while `paused`, ghost text is off. */
export function settingsForServer(section: unknown, paused: boolean): Record<string, unknown> {
  const { path: _own, ...settings } = (section ?? {}) as Record<string, unknown>;
  return paused ? { ...settings, enabled: false } : settings;
}
