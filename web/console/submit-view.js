import { h } from 'preact';
import { useState } from 'preact/hooks';
import { ReelwrightError } from '#clients/typescript/src/errors.ts';
import { ask, findProfiles, has, textOf } from './api.js';
import { html, useLoaded } from './base.js';
import { announce } from './dialogs.js';
import { plainText, useForm } from './form.js';
import { FilesToSubmit } from './files-card.js';
import { jobTypes } from './format.js';
import { card } from './parts.js';

// The form that submits a job. What is wrong stands at its field, as the server says it.

/** @import { Field, JobType, MakeInput, Submission, SubmitValues, Visit } from './types.ts' */

/** @type {Record<JobType, string>} */
const typeTexts = {
  'video:full': 'stream, cover and preview of a video',
  'video:transcode': 'stream of a video (HLS and DASH)',
  'video:cover': 'cover image of a video',
  'video:preview': 'short animated preview of a video',
  'image:thumbnail': 'sizes and formats of an image',
};

/** @type {Record<JobType, object>} */
const optionExamples = {
  'video:full': { transcode: { encrypt: true } },
  'video:transcode': { encrypt: true },
  'video:cover': {},
  'video:preview': {},
  'image:thumbnail': { outputs: [{ variant: 'thumb', width: 300, format: 'webp' }] },
};

/** The types that make a stream, and so have a profile. @type {JobType[]} */
const streamTypes = ['video:full', 'video:transcode'];

/** @param {JobType} type */
function exampleOf(type) {
  const options = optionExamples[type];
  return Object.keys(options).length === 0 ? '' : JSON.stringify(options, null, 2);
}

const optionsHint = 'Empty: the defaults. The API reference lists the options of each type.';
const example = { placeholder: 'https://example.com/hooks/media', type: 'url' };
/** @type {readonly (Field & { 0: keyof SubmitValues })[]} */
const allFields = [
  ['type', 'Type', '/type'],
  ['source', 'Source', '/source', 'The key of an object in the source bucket.', { placeholder: 'uploads/movie.mp4' }],
  ['hash', 'Media hash', '/hash', 'Names the results: letters, digits, and . _ ~ -', { placeholder: 'movie-1' }],
  ['options', 'Options (JSON)', '/options', optionsHint],
  ['profile', 'Profile', '/X-Profile', 'How its stream is encoded.'],
  ['callback_url', 'Webhook address', '/callback_url', 'Optional: a signed POST when the job has ended.', example],
];
/** @param {JobType} type */
const hasProfile = (type) => has('GET /api/profiles') && streamTypes.includes(type);

const firstOptions = exampleOf('video:full');
/** @type {SubmitValues} */
const firstValues = { type: 'video:full', options: firstOptions, source: '', hash: '', profile: '', callback_url: '' };

/** With another type the example of options changes; what a person wrote stays. @param {SubmitValues} values @param {JobType} type */
const withType = (values, type) => ({
  ...values,
  type,
  options: ['', exampleOf(values.type)].includes(values.options.trim()) ? exampleOf(type) : values.options,
});

/** @param {SubmitValues} values @returns {Submission} @throws SyntaxError for options that are not JSON */
function submissionOf({ type, hash, source, options, callback_url }) {
  const callback = callback_url.trim();
  const body = {
    type,
    hash: hash.trim(),
    source: source.trim(),
    ...(options.trim() === '' ? {} : { options: JSON.parse(options) }),
    ...(callback === '' ? {} : { callback_url: callback }),
  };
  return body;
}

/** @param {Visit} visit */
export function SubmitView({ navigate }) {
  const [values, setValues] = useState(firstValues);
  const fields = allFields.filter(([name]) => name !== 'profile' || hasProfile(values.type));
  const form = useForm(fields);
  const [isSending, setSending] = useState(false);
  const { data: known } = useLoaded(findProfiles, []);

  const submit = async () => {
    form.show([]);
    setSending(true);
    try {
      const body = submissionOf(values);
      const header = hasProfile(values.type) && values.profile !== '' ? { 'X-Profile': values.profile } : {};
      const {
        job_id: id,
        status,
        ...answer
      } = await ask((http) => http.POST('/api/jobs', { body, params: { header } }));
      announce(status === 'queued' ? 'The job was submitted.' : 'This was submitted before; here is that job.');
      // Such as: the equal job has another profile than this request names.
      if ('notice' in answer && answer.notice) announce(answer.notice.detail);
      navigate(`/jobs/${id}`);
    } catch (problem) {
      const code = problem instanceof ReelwrightError ? problem.code : '';
      if (problem instanceof SyntaxError)
        form.show(
          [{ pointer: '/options', detail: `this is not JSON: ${problem.message}` }],
          'The options are not JSON.',
        );
      else if (code === 'source_missing' || code === 'source_too_large')
        form.show([{ pointer: '/source', detail: textOf(problem) }], textOf(problem));
      else form.refuse(problem);
    } finally {
      setSending(false);
    }
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void submit();
  };
  const onInput = (/** @type {Event} */ { target }) => {
    const isField =
      target instanceof HTMLInputElement ||
      target instanceof HTMLSelectElement ||
      target instanceof HTMLTextAreaElement;
    if (!isField) return;
    const { name, value } = target;
    const type = name === 'type' ? jobTypes.find((each) => each === value) : undefined;
    setValues((before) => (type === undefined ? { ...before, [name]: value } : withType(before, type)));
  };
  const hasUploads = has('POST /api/uploads');
  const job = html`<form ref=${form.form} class="form" novalidate onSubmit=${onSubmit} onInput=${onInput}>
    ${fields.map((field) => form.field(field, inputOf(field[0], values, known?.profiles ?? [])))}
    ${form.summary}
    <button type="submit" class="button primary" disabled=${isSending}>Submit the job</button>
  </form>`;
  return html`<div class="view page narrow">
    <header class="page-head"><h1>Submit</h1></header>
    <div class="stack">
      ${hasUploads && h(FilesToSubmit, { profiles: known?.profiles ?? [] })}
      ${
        hasUploads
          ? html`<details class="card advanced"><summary>Advanced: an object of the source bucket, or options as JSON</summary>${job}</details>`
          : card('Job', {}, job)
      }
    </div>
  </div>`;
}

/** @param {keyof SubmitValues} name @param {SubmitValues} values @param {{ name: string }[]} profiles @returns {MakeInput} */
function inputOf(name, values, profiles) {
  const value = values[name];
  if (name === 'options')
    return (attributes) =>
      html`<textarea ...${plainText} ...${attributes} rows="6" class="mono" value=${value}></textarea>`;
  if (name !== 'type' && name !== 'profile')
    return (attributes) => html`<input ...${plainText} ...${attributes} value=${value} />`;
  const options =
    name === 'type'
      ? jobTypes.map((type) => html`<option value=${type}>${type}: ${typeTexts[type]}</option>`)
      : ['', ...profiles.map((profile) => profile.name)].map(
          (text) => html`<option value=${text}>${text === '' ? 'As the rules choose' : text}</option>`,
        );
  return (attributes) => html`<select ...${attributes} value=${value}>${options}</select>`;
}
