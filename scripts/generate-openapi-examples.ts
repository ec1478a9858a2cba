import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { jobTypeNames } from '#domain/job-types/index.ts';

// Writes api/openapi/examples.json, the examples of the OpenAPI document, from the answers in docs/guides/api.md: `node
// scripts/generate-openapi-examples.ts`. Tests compare the page with a running service, and the examples with the page.
// The program's image has no documents.

const page = new URL('../docs/guides/api.md', import.meta.url);

/** Where the examples are. */
export const examplesFile = new URL('../api/openapi/examples.json', import.meta.url);

/** The contents of the file. */
export async function openApiExamples(): Promise<string> {
  const text = await readFile(page, 'utf8');
  const shownAfter = (start: string, fence = '```json\n') => {
    const from = text.indexOf(fence, text.indexOf(start));
    if (text.indexOf(start) < 0 || from < 0) throw new Error(`docs/guides/api.md has no answer after ${start}`);
    return JSON.parse(text.slice(from + fence.length, text.indexOf('```', from + fence.length))) as unknown;
  };
  const results = jobTypeNames.map((type) => [type, shownAfter(`### ${type}\n`, '```json results\n')]);
  const examples = {
    results: Object.fromEntries(results) as unknown,
    created: shownAfter('## Submit a job'),
    job: shownAfter('## Follow a job'),
    error: shownAfter('This job fails'),
    problem: shownAfter('## Refused requests'),
  };
  const config = await resolveConfig(fileURLToPath(examplesFile));
  return format(JSON.stringify(examples), { ...config, parser: 'json' });
}

if (import.meta.main) await writeFile(examplesFile, await openApiExamples());
