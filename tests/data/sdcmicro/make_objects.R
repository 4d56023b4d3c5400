# Writes the objects of this folder.  R 4.2 and sdcMicro 5.8.1 wrote those that are
# committed:  cd tests/data/sdcmicro && Rscript make_objects.R
# All records are drawn at random here; no person has them.
suppressMessages(library(sdcMicro))
RNGversion("4.0.0")
set.seed(20)
n <- 60
people <- data.frame(
  person = 1:n,
  household = rep(1:20, each = 3),
  region = rep(c("north", "middle", "south"), each = n / 3),
  sex = factor(sample(c("f", "m"), n, TRUE)),
  education = factor(sample(c("low", "medium", "high"), n, TRUE),
                     levels = c("low", "medium", "high"), ordered = TRUE),
  age = sample(18:89, n, TRUE),
  income = round(rgamma(n, 2, 1 / 900), 1),
  savings = round(rgamma(n, 2, 1 / 300)),
  illness = factor(sample(c("none", "asthma", "flu", "ulcer"), n, TRUE)),
  weight = round(runif(n, 50, 150), 3),
  stringsAsFactors = FALSE
)
keys <- c("sex", "education", "age")
numbers <- c("income", "savings")
format_entry <- function(x) if (inherits(x, "POSIXct")) format(x) else as.character(x)
write_object <- function(object, name, ...) saveRDS(object, paste0(name, ".rds"), ...)

# 1. keys alone; 2. all roles
write_object(createSdcObj(people, keyVars = keys), "keys")
all_roles <- createSdcObj(people, keyVars = keys, numVars = numbers,
  weightVar = "weight", hhId = "household", strataVar = "region",
  sensibleVar = "illness", excludeVars = "person", seed = 7)
write_object(all_roles, "roles")

# 3. k = 4 by suppression; 4. undone steps, and results of risk
write_object(kAnon(all_roles, k = 4), "suppressed", compress = "xz")
write_object(microaggregation(kAnon(kAnon(all_roles, k = 2), k = 3), aggr = 3,
  method = "mdav"), "steps", compress = "bzip2")

# 5. missing values, and a label as haven writes it
missing <- people
missing$sex[3] <- NA; missing$income[5] <- NA; missing$age[c(7, 8)] <- NA
attr(missing$age, "label") <- "Age in years"
missing$urban <- haven::labelled(rep(c(1, 2), n / 2), c("rural area" = 1, "town" = 2),
                                 label = "Kind of place")
write_object(createSdcObj(missing, keyVars = c("sex", "urban"),
  numVars = "income", sensibleVar = "illness"), "missing")

# 6. PRAM, ghost variables; 7. columns of other types, and letters beyond ASCII
write_object(createSdcObj(people, keyVars = keys, pramVars = "region",
  ghostVars = list(list("education", "illness")), weightVar = "weight"), "ghosts")
letters <- people
names(letters)[3] <- "Région"
letters[["Région"]] <- factor(ifelse(letters[["Région"]] == "north", "Nord-Est\u00e9",
                                     "Süd"))
letters$born <- as.Date("1960-01-01") + 37 * seq_len(n)
letters$asked <- as.POSIXct("2025-03-01 12:00:00", tz = "UTC") + 3600 * seq_len(n)
letters$works <- letters$age < 65
letters$number <- 1:n   # R writes it by its ends
write_object(createSdcObj(letters, keyVars = c("Région", "sex"), numVars = "income"),
             "types")

# 8. k for combinations; 9. a data.table, uncompressed; 10. version 2 of the format
write_object(kAnon(all_roles, k = c(3, 2), combs = c(2, 3)), "combinations")
write_object(createSdcObj(data.table::as.data.table(people), keyVars = keys,
  numVars = numbers), "uncompressed", compress = FALSE)
write_object(createSdcObj(people, keyVars = "age", hhId = "household"), "version2",
             version = 2)

# A data frame, and what is refused
write_object(letters, "frame")
write_object(data.frame(number = 1:10, text = as.character(11:20)), "sequences")
write_object(list(people), "list")
write_object(lm(income ~ age, people), "model")

# The entries, as R writes them
for (name in c("people", "missing", "letters")) {
  table <- get(name)
  table[] <- lapply(table, function(x) {
    if (haven::is.labelled(x)) as.character(haven::as_factor(x)) else format_entry(x)
  })
  write.csv(table, paste0(name, ".csv"), row.names = FALSE, na = "")
}
