import { checkout } from './checkout.ts';
import { readSources } from './imports.ts';

const sources = readSources(checkout).filter(
  ({ path, text }) => /^(?:api|delivery|domain|platform)\//.test(path) && text.includes("from 'zod'"),
);

/** Where schemas declare a field of this name without a description, and what to add there. */
export function remedyFor(field: string): string {
  const places = sources.flatMap(({ path, text }) => {
    const lines = text.split('\n');
    return lines.flatMap((line, index) => {
      const [, indent] = new RegExp(String.raw`^(\s+)${field}(?::.*|,)$`).exec(line) ?? [];
      if (indent === undefined) return [];
      const after = lines.slice(index + 1).findIndex((next) => !next.startsWith(`${indent} `));
      const declaration = lines.slice(index, index + 1 + Math.max(0, after)).join('\n');
      return /descri(?:be|ption)/.test(declaration) ? [] : [`${path}:${index + 1}`];
    });
  });
  return `add .describe('…') at ${places.join(' or ')}`;
}
