/** Waits until `isSo` says yes; the error says what was awaited. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<void> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline;) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`not within ${withinMs} ms: ${what}`);
}
