import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { attemptRules, mediaJobRules } from '../../controller/kubernetes/plan/rules.ts';

it('docs/design/reconcile.md lists the situations of a MediaJob in the order of their rules', () => {
  const page = readFileSync('docs/design/reconcile.md', 'utf8');
  const listed = [...page.matchAll(/^\| `(\w+)`/gm)].map(([, situation]) => situation);
  expect(listed).toEqual([...Object.keys(mediaJobRules), ...Object.keys(attemptRules)]);
});
