/** Waits until `isSo` says yes; the error says what was awaited. The limit is for a hang. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, withinMs = 300_000): Promise<void> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline;) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`not within ${withinMs} ms: ${what}`);
}
