import { ask, byId, findProfiles, has } from './api.js';
import { html } from './base.js';
import { asked } from './dialogs.js';
import { secondsText } from './format.js';

// Makes a job again, after a question: by which profile, with which priority, and what the last time cost.

/** @import { AnyJob, Navigate } from './types.ts' */

/** @param {AnyJob} job */
export const canRerun = ({ status }) =>
  (status === 'completed' || status === 'failed') && has('POST /api/jobs/{id}/rerun');

/** The cost of the job in words; '' where it is not known. @param {string} id */
async function costOf(id) {
  if (!has('GET /api/jobs/{id}/timeline')) return '';
  const { usage } = await ask((http) => http.GET('/api/jobs/{id}/timeline', byId(id)));
  const { duration_ms: ran, processor_ms: processor } = usage;
  if (ran === null || processor === null) return '';
  return `The last time took ${secondsText(processor)} of processors in ${secondsText(ran)}.`;
}

/** @param {AnyJob} job @param {Navigate} navigate */
export async function makeAgain(job, navigate) {
  const { signal } = new AbortController();
  const [cost, known] = await Promise.all([costOf(job.job_id), job.profile === null ? null : findProfiles(signal)]);
  const names = (known?.profiles ?? []).map(({ name }) => name).filter((name) => name !== job.profile);
  const given = await asked({
    title: 'Make this job again?',
    text: `The result is a new revision; the current one plays until it has completed. ${cost}`,
    action: 'Make it again',
    isSafe: true,
    body: html`${
      job.profile !== null &&
      html`<label class="field"><span>Profile</span>
        <select name="profile"><option value="">${job.profile}, as before</option>
          ${names.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`
    }
      <label class="field"><span>Priority (empty: as before)</span>
        <input name="priority" type="number" min="-1000" max="1000" step="1" /></label>`,
  });
  if (given === null) return;
  const [profile, priority] = ['profile', 'priority'].map((name) => {
    const value = given.get(name);
    return typeof value === 'string' ? value : '';
  });
  const body = { ...(profile && { profile }), ...(priority && { priority: Number(priority) }) };
  const { job_id: made } = await ask((http) => http.POST('/api/jobs/{id}/rerun', { ...byId(job.job_id), body }));
  navigate(`/jobs/${made}`);
}
