"""Names of columns and classes seen in the wild, by what the column holds; about 170 names.

Collected from documents and published tables of scikit-learn, caret, yardstick and tidymodels,
H2O, Weka, MLflow, Hugging Face, Kaggle, medical and credit papers, LLM judges and retrieval.
"""

from __future__ import annotations

# names of truth that a list of such names holds: certain ones, and likely ones
# fmt: off
TRUTH_CERTAIN = (
    "truth", "y_true", "target", "actual", "label", "true_label", "Truth", "Target", "Label",
)
TRUTH_LIKELY = (
    "class", "y", "outcome", "gt", "gold", "gold_label", "ground_truth", "y_test", "true_class",
    "actual_class", "diagnosis", "Reference", "obs", "reference_standard", "expected", "default",
    "Outcome", "Class", "survived", "fraud", "churn", "relevance", "died",
)
# names of truth that no list has; the values and the other columns must say it
TRUTH_UNLISTED = (
    "mortality_30d", "is_readmitted", "recidivism", "pop", "rain", "sepsis", "occupancy",
    "two_year_recid", "Attrition", "Exited", "SeriousDlqin2yrs", "HeartDisease", "HasDetections",
    "is_canceled", "converted", "subscribed", "stroke", "aki_stage2", "bad_loan", "readmit30",
    "in_hospital_death", "biopsy", "metastasis", "is_attack", "toxic", "is_spam", "clicked",
    "qrel", "human_verdict", "delirium", "Pleural Effusion", "RainTomorrow", "y_bin", "icu_adm",
)
TRUTH_UNLISTED_OF_MANY_CLASSES = (
    "species", "variety", "digit", "sentiment", "topic", "emotion", "stage", "histology",
    "human_grade", "land_cover", "intent", "ClassId",
)

MODELS = (
    "logreg", "rf", "xgb", "lightgbm", "svm", "knn", "nb", "mlp", "bert", "gpt-4o", "claude",
    "llama3", "resnet50", "catboost", "glmnet", "gbm", "Random Forest", "model_a", "model_b",
    "judge_1", "judge_2", "baseline", "ensemble_v2", "densenet121",
)
LABEL_ALONE = (
    "y_pred", "pred", "prediction", "predicted", "Prediction", "predict", ".pred_class", "yhat",
    "pred_label", "predicted_label", "model_output", "rule", "triage",
)
PROBABILITY_ALONE = (
    "prob", "y_prob", "p_hat", "risk", "probability", "y_proba", "predicted_prob", "score",
    "y_score", "pred_proba",
)
PERCENTAGE_ALONE = (
    "pop", "prob_pct", "risk (%)", "Wahrscheinlichkeit (%)", "percent", "chance_percent", "p%",
    "rain_chance", "probability", "risk",
)
SCORE_ALONE = (
    "score", "y_score", "risk", "risk_score", "lp", "decision_function", "anomaly_score", "bm25",
    "similarity", "margin",
)
MARKERS = (
    "wfns", "s100b", "ndka", "apache_ii", "sofa", "fico", "ldh", "procalcitonin", "troponin",
)
# a label and the score it is a cut of; `{}` is the positive class
LABEL_WITH_SCORE = (
    ("y_pred", "y_prob"), ("predicted", "score"), ("pred_label", "prediction"), ("predict", "p1"),
    ("prediction", "probability"), (".pred_class", ".pred_{}"), ("rf_label", "rf_score"),
    ("pred_class", "risk"), ("xgb_pred", "xgb_prob"), ("call", "prob_{}"),
)
# of scores that are no probabilities
LABEL_WITH_ANY_SCORE = (
    ("predicted", "score"), ("rf_label", "rf_score"), ("pred_class", "risk"),
    ("pred_label", "decision_function"), ("y_pred", "y_score"),
)
LABEL_WITH_CONFIDENCE = (
    ("predicted", "confidence"), ("predicted", "prediction"), ("pred", "conf"),
    ("llm_verdict", "llm_confidence"), ("predicted", "sureness"), ("label_pred", "x"),
    ("verdict", "top1"), ("prediction", "prediction_probability"), ("decision", "max_p"),
    ("y_pred", "certainty"), ("pred", "p_of_pred"), ("choice", "strength"), ("y_hat", "score"),
    ("answer", "Sicherheit"), ("winner", "softmax_max"),
)
PROBABILITY_STEMS = ("prob_", ".pred_", "p_", "proba_", "P(", "probability_", "")
PREDICTED_WITH_PROBABILITIES = ("predict", ".pred_class", "prediction", "y_pred")
# columns of a long table: id, model, and prediction or score
LONG = (
    ("id", "model", "prediction", "score"), ("Instance ID", "classifier", "pred_label", "score"),
    ("case_id", "system", "predicted", "score"), ("row_id", "model_name", "pred", "y_score"),
    ("id", "classifier", "y_pred", "score"), ("sample_id", "algorithm", "y_pred", "y_score"),
)
IDS = (
    "id", "row_id", "PassengerId", "image_id", "patient_id", "filename", "uuid", "doc_id",
    "SK_ID_CURR", "obs_id",
)
ACCOUNTS = (
    "account", "account_no", "loan_id", "mrn", "customer", "case_no", "policy_number", "inst#",
    "tx_hash_no", "invoice",
)
DATES = ("date", "admission_date", "timestamp", "issue_d", "week", "created_at")
# properties of rows that nobody takes for a model, with their values
COVARIATES = {
    "age": ("whole", 20, 95), "Age": ("whole", 20, 95), "age_years": ("whole", 1, 90),
    "bmi": ("real", 17, 42), "height_cm": ("whole", 140, 205), "income": ("whole", 900, 9000),
    "sex": ("F", "M"), "Gender": ("female", "male"), "site": ("Graz", "Linz", "Wien"),
    "device": ("mobile", "desktop", "tablet"), "region": ("north", "south", "east", "west"),
    "hospital": ("St. Anna", "Rudolf", "Hanusch"), "language": ("de", "en", "fr"),
}
BLOOD_VALUES = {
    "creatinine": ("real", 0.4, 3.9), "crp": ("real", 1, 180), "systolic_bp": ("whole", 85, 190),
    "amount": ("real", 3, 2500), "tenure": ("whole", 1, 70), "n_words": ("whole", 40, 900),
}
FLAGS = ("smoker", "diabetic", "prior_mi", "is_weekend", "hypertension", "married", "night_shift")
COUNTS = ("n", "N", "count", "Freq", "freq", "cnt", "frequency", "n_rows")
WEIGHTS = ("weight", "sample_weight", "case_weight", "sampling_weight", "survey_weight", "weights")
RUNS = ("fold", "Resample", "cv_fold", "seed", "run", "repeat", "fold_id", "random_seed")
SETTINGS = (
    "threshold", ".config", "epoch", "temperature", "prompt", "lambda", "window", "setting", "llm",
    "engine", "judge_version", "variant", "arm", "Modell", "checkpoint", "augmentation",
)
TOTALS = ("total", "Total", "sum_score", "total_points")
COPIES = ("{}.1", "{}_copy", "{}_2", "{} (1)")

# classes: negative, positive, and whether one look at the table decides the positive one
TWO_CLASSES = (
    ("0", "1", True), ("0", "1", True), ("0", "1", True), ("0", "1", True), ("0.0", "1.0", True),
    ("false", "true", True), ("False", "True", True), ("no", "yes", True), ("No", "Yes", True),
    ("-1", "1", True), ("1", "2", False), ("negative", "positive", True),
    ("benign", "malignant", True), ("healthy", "sick", True), ("ham", "spam", True),
    ("control", "case", True), ("alive", "dead", True), ("A", "B", False), ("low", "high", False),
    ("good", "bad", False), ("cat", "dog", False),
)
MANY_CLASSES = (
    ("setosa", "versicolor", "virginica"), ("negative", "neutral", "positive"),
    ("mild", "moderate", "severe"), ("cat", "dog", "fox"), ("N", "S", "V"), ("0", "1", "2"),
    ("0", "1", "2", "3", "4"), ("1", "2", "3", "4"), ("0", "1", "2", "3"),
    ("water", "forest", "urban", "crops"),
)
# large whole numbers that name rows, and numbers whose name says nothing
FINE_IDS = (
    "account_number", "Kundennummer", "client_id", "ssn", "order_no", "transaction_id", "iban_no",
    "employee_id", "ticket", "numero_client", "device_id", "barcode", "case_number", "contract_no",
)
OPAQUE_NUMBERS = ("v", "ref", "nr", "x1", "code", "col_0", "key", "zahl", "b", "tag")
ABSTENTIONS = (
    "unsure", "I cannot judge this.", "abstain", "don't know", "refused", "cannot determine",
    "I'm sorry, but I can't help with that.", "weiß nicht", "no answer", "no sé", "unclear",
    "As an AI model, I cannot answer.", "inconclusive", "pass", "undetermined", "je ne sais pas",
    "not sure", "ERROR: no response", "unbestimmt", "Unable to classify", "skipped",
)
WHOLE_WEIGHTS = (
    "weight", "w", "sample_weight", "sampling_weight", "survey_weight", "wt", "pweight", "Gewicht",
    "inv_prob", "ipw", "case_weight", "expansion_factor",
)
SUMMARY_WORDS = (
    "Total", "TOTAL", "Sum", "Mean", "Average", "Gesamt", "Summe", "Grand Total", "total",
    "Mittelwert", "AVG", "Totale", "Somme", "All",
)
WORDS_OF_MEANS = ("Mean", "Average", "Mittelwert", "AVG")
ORANGE_MODELS = (
    "Logistic Regression", "Random Forest", "kNN", "Naive Bayes", "Tree", "SVM", "Neural Network",
)
PIPELINE_TRUTH = ("gold", "y_true", "true_label", "expected", "truth", "target", "gold_label")
# names of truth and of predictions in one column per class
ONE_HOT = (
    ("{}_true", "{}_pred"), ("true_{}", "pred_{}"), ("y_true_{}", "y_pred_{}"),
    ("{}", "prob_{}"), ("actual_{}", "p_{}"), ("truth_{}", "score_{}"), ("target_{}", "output_{}"),
)
SUBMISSIONS = (
    ("id", "target"), ("PassengerId", "Survived"), ("SK_ID_CURR", "TARGET"), ("image_id", "label"),
    ("ID", "class"), ("row_id", "y"), ("Id", "Response"), ("enrollee_id", "default"),
)
SUBMISSION_FILES = (
    ("solution.csv", ("submission.csv",)), ("truth.csv", ("sub1.csv", "sub2.csv")),
    ("test_labels.csv", ("my_submission.csv",)), ("answers.csv", ("team_a.csv", "team_b.csv")),
    ("y_test.csv", ("predictions.csv",)),
)
READER_STUDY = (
    ("readerID", "caseID", "modalityID", "score"), ("ReaderID", "CaseID", "ModalityID", "Score"),
    ("reader_id", "case_id", "modality_id", "score"),
)
R_COUNTS = (
    ("truth", "pred", "Freq"), ("Reference", "Prediction", "Freq"), ("Truth", "Prediction", "n"),
    ("obs", "pred", "n"), ("actual", "predicted", "Freq"), ("y_true", "y_pred", "count"),
)
DETECTION_COUNTS = (
    ("tp", "fp", "fn"), ("TP", "FP", "FN"),
    ("true_positives", "false_positives", "false_negatives"),
    ("True Positives", "False Positives", "False Negatives"), ("n_tp", "n_fp", "n_fn"),
)
FILES_OF_PARTS = (("part1.csv", "part2.csv"), ("site_a.csv", "site_b.csv"), ("q1.csv", "q2.csv"))
FILES_OF_MODELS = (("new.csv", "old.csv"), ("rf.csv", "svm.csv"), ("champion.csv", "rival.csv"))
JOIN_IDS = ("id", "row", "patient", "case_id", "loan_id")
# fmt: on
