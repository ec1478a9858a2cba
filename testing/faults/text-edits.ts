import { registerHooks } from 'node:module';

// A process under test loads some modules of the product with other text: the product itself has no switch for tests.

export interface Edit {
  /** The end of a module's path. */
  readonly file: string;
  /** Found once in it. */
  readonly from: string;
  readonly to: string;
}

/** @throws Error when the text that is to be changed is not there once */
export function edited(text: string, { file, from, to }: Edit): string {
  if (text.split(from).length !== 2) throw new Error(`expected "${from}" once in ${file}`);
  return text.replace(from, () => to);
}

/** Lets this process load the product with other text. */
export function loadEdited(edits: readonly Edit[]): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const ofModule = edits.filter(({ file }) => url.endsWith(`/${file}`));
      if (ofModule.length === 0) return loaded;
      return { ...loaded, source: ofModule.reduce(edited, Buffer.from(loaded.source as Uint8Array).toString('utf8')) };
    },
  });
}
